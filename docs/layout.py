"""The layout of the package, read from its imports: ``python docs/layout.py`` writes table and picture of it."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE, PICTURE = ROOT / "docs" / "architecture.md", ROOT / "docs" / "architecture.svg"
START, END = "<!-- layout: written by docs/layout.py -->\n", "<!-- end of layout -->\n"


def modules() -> dict[str, Path]:
    """Return the files of the package by their dotted names; a folder stands for its ``__init__.py``."""
    found = {}
    for path in sorted((ROOT / "symamp").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, known: dict[str, Path]) -> Iterator[tuple[str, bool]]:
    """Yield each module of the package that a file imports anywhere, and whether it does so within a function."""
    nodes: list[tuple[ast.AST, bool]] = [(parsed(path), False)]
    while nodes:
        node, inside = nodes.pop()
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            here = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
            module = ".".join([*here, *([node.module] if node.module else [])])
            names = [name if name in known else module for name in (f"{module}.{a.name}" for a in node.names)]
        yield from ((name, inside) for name in dict.fromkeys(names) if name in known)
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        nodes += [(child, inside) for child in ast.iter_child_nodes(node)]


def room(module: str) -> str:
    """Return the room of a module: the folder, or the file, next to the root of the package."""
    return (*module.split("."), "symamp")[1] if module != "symamp" else "symamp"


def floors() -> list[list[str]]:
    """Return the rooms of each floor, the highest first, as the contract of the layers has them."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    return [[r.strip(" ()") for r in layer.split("|")] for layer in contract[0]["layers"]]


@cache
def used_rooms() -> dict[str, set[str]]:
    """Return for each room the rooms that it imports."""
    known = modules()
    used: dict[str, set[str]] = {}
    for module, path in known.items():
        if module != "symamp":
            used.setdefault(room(module), set()).update(room(name) for name, _ in imports(path, known))
    return {name: found - {name, "symamp"} for name, found in used.items()}


def sketch() -> str:
    """Return the rooms, highest floor first, with what each is for and the rooms that it imports."""
    known, used, levels = modules(), used_rooms(), floors()
    order = [r for rooms in levels for r in rooms]
    lines = []
    for number, rooms in zip(range(len(levels), 0, -1), levels, strict=True):
        for name in rooms:
            if name not in used:
                continue
            summary = (ast.get_docstring(ast.parse(known[f"symamp.{name}"].read_text(encoding="utf-8"))) or "").strip()
            below = [r for r in order if r in used[name]]
            title = name if known[f"symamp.{name}"].name != "__init__.py" else f"{name}/"
            lines.append(f"| {number} | `{title}` | {summary.splitlines()[0].rstrip('.')} | {', '.join(below)} |")
    return "\n".join(["| floor | room | holds | imports |", "| --- | --- | --- | --- |", *lines, ""])


_WIDTH, _FLOOR, _HEIGHT, _GAP = 960, 74, 40, 24
_COLOURS = {"sympy": "#dbeafe", "flint": "#dcfce7", "both": "#fef3c7", "neither": "#f1f5f9"}
_KINDS = {"sympy": "formulas (SymPy)", "flint": "numbers (FLINT)", "both": "both", "neither": "neither"}


def _kind(paths: list[Path]) -> str:
    """Return which of the two worlds the files of a room import: formulas, certified numbers, both or neither."""
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    has = [f"import {x}" in text or f"from {x} import" in text for x in ("sympy", "flint")]
    return "both" if all(has) else "sympy" if has[0] else "flint" if has[1] else "neither"


def picture() -> str:
    """Return the rooms as an SVG: the highest floor on top, wide rooms have many lines, an arrow is an import.

    An arrow is left out where a longer way through other rooms says as much.
    """
    known, used = modules(), used_rooms()
    files: dict[str, list[Path]] = {}
    for module, path in known.items():
        files.setdefault(room(module), []).append(path)
    levels = [[r for r in rooms if r in used] for rooms in floors()]
    size = {r: sum(len(p.read_text(encoding="utf-8").splitlines()) for p in files[r]) for r in used}
    place: dict[str, tuple[float, float, float]] = {}
    for i, rooms in enumerate(levels):
        widths = [max(8.5 * len(r) + 16, 0.055 * 250 * round(size[r] / 250)) for r in rooms]
        # Floors lean left and right in turn, so that arrows that pass one by are seen.
        x = (_WIDTH - sum(widths) - _GAP * (len(rooms) - 1)) / 2 + (-90, 0, 90)[i % 3]
        for r, width in zip(rooms, widths, strict=True):
            place[r] = x, 20 + i * _FLOOR, width
            x += width + _GAP

    def reaches(a: str, b: str) -> bool:
        return any(x == b or reaches(x, b) for x in used[a])

    arrows = [(a, b) for a in used for b in used[a] if not any(x != b and reaches(x, b) for x in used[a])]
    head = '<marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    height = 20 + len(levels) * _FLOOR + 20
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" font-family="sans-serif">',
        "<title>The rooms of the package: floors, sizes and imports</title>",
        f'<defs>{head}<path d="M0 0 8 4 0 8z" fill="#64748b"/></marker></defs>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for a, b in sorted(arrows):
        (x0, y0, w0), (x1, y1, w1) = place[a], place[b]
        ends = f'x1="{x0 + w0 / 2:.0f}" y1="{y0 + _HEIGHT}" x2="{x1 + w1 / 2:.0f}" y2="{y1}"'
        drawn.append(f'<line {ends} stroke="#64748b" marker-end="url(#a)"/>')
    for name, (x, y, width) in place.items():
        colour, middle = _COLOURS[_kind(files[name])], x + width / 2
        shape = f'x="{x:.0f}" y="{y}" width="{width:.0f}" height="{_HEIGHT}" rx="4"'
        label = f'text-anchor="middle" x="{middle:.0f}"'
        drawn += [
            f'<rect {shape} fill="{colour}" stroke="#475569"/>',
            f'<text {label} y="{y + 17}" font-size="14">{name}</text>',
            f'<text {label} y="{y + 33}" font-size="11" fill="#475569">{_about(size[name])} lines</text>',
        ]
    for i, (kind, told) in enumerate(_KINDS.items()):
        x = 20 + 160 * i
        drawn += [
            f'<rect x="{x}" y="{height - 22}" width="12" height="12" fill="{_COLOURS[kind]}" stroke="#475569"/>',
            f'<text x="{x + 18}" y="{height - 12}" font-size="12">{told}</text>',
        ]
    return "\n".join([*drawn, "</svg>", ""])


def _about(lines: int) -> str:
    """Return a number of lines to a quarter of a thousand, so that small changes leave the picture alone."""
    return f"{max(round(4 * lines / 1000), 1) / 4:g}k"


def page() -> str:
    """Return architecture.md with the sketch brought up to date."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{sketch()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
