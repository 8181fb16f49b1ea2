"""The layout of the package, read from its imports: ``python docs/layout.py`` writes the sketch of architecture.md."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
START, END = "<!-- layout: written by docs/layout.py -->\n", "<!-- end of layout -->\n"


def modules() -> dict[str, Path]:
    """Return the files of the package by their dotted names; a folder stands for its ``__init__.py``."""
    found = {}
    for path in sorted((ROOT / "symamp").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> Iterator[tuple[str, bool]]:
    """Yield each module of the package that a file imports anywhere, and whether it does so within a function."""
    nodes: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), False)]
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


def sketch() -> str:
    """Return the rooms, highest floor first, with what each is for and the rooms that it imports."""
    known = modules()
    used: dict[str, set[str]] = {}
    for module, path in known.items():
        if module != "symamp":
            used.setdefault(room(module), set()).update(room(name) for name, _ in imports(path, known))
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    floors = [[r.strip(" ()") for r in layer.split("|")] for layer in contract[0]["layers"]]
    order = [r for rooms in floors for r in rooms]
    lines = []
    for number, rooms in zip(range(len(floors), 0, -1), floors, strict=True):
        for name in rooms:
            if name not in used:
                continue
            summary = (ast.get_docstring(ast.parse(known[f"symamp.{name}"].read_text(encoding="utf-8"))) or "").strip()
            below = [r for r in order if r in used[name] - {name, "symamp"}]
            title = name if known[f"symamp.{name}"].name != "__init__.py" else f"{name}/"
            lines.append(f"| {number} | `{title}` | {summary.splitlines()[0].rstrip('.')} | {', '.join(below)} |")
    return "\n".join(["| floor | room | holds | imports |", "| --- | --- | --- | --- |", *lines, ""])


def page() -> str:
    """Return architecture.md with the sketch brought up to date."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{sketch()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
