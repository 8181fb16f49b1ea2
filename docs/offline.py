"""The site works without a network: no page takes a script, a style, a font or a picture from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_REMOTE = re.compile(
    r"""<(?:script|img|iframe|source|embed|object|video|audio)\b[^>]*?\b(?:src|data|srcset)\s*=\s*["']?(?:https?:)?//[^>]*
    |<link\b(?=[^>]*\brel\s*=\s*["']?(?:stylesheet|preload|modulepreload|icon|preconnect))[^>]*?
     \bhref\s*=\s*["']?(?:https?:)?//[^>]*
    |\b(?:import|from)\s*\(?\s*["']https?://[^"']*
    |url\(\s*["']?(?:https?:)?//[^)]*
    |@import\s+["'](?:https?:)?//[^"']*""",
    re.IGNORECASE | re.VERBOSE,
)


def remote(folder: Path) -> Iterator[str]:
    """Yield what the pages and styles of a built site would load from another host."""
    for path in sorted([*folder.rglob("*.html"), *folder.rglob("*.css")]):
        for found in _REMOTE.finditer(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(folder)}: {found[0][:120]}"
