"""README.md as package indexes show it; all else is in pyproject.toml."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent


def description() -> str:
    """Return README.md with links to files made absolute, or written as paths where the project has no address."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
    target = r"[\1](" + urls["Files"].rstrip("/") + r"/\2)" if "Files" in urls else r"\1 (`\2`)"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.sub(r"\[([^]]+)\]\((?!https?://|#)([^)]+)\)", target, readme)


setup(long_description=description(), long_description_content_type="text/markdown")
