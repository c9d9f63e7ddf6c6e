"""The page of all modules: docs/modules.md, made from the first sentences of their docstrings. `make generate` writes it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from autograder.base.files import write_whole
from autograder.base.parsing import parse
from autograder.lessons import ROOT, syllabus

PAGE = ROOT / "docs" / "modules.md"
FOLDERS = ("autograder", "course/kit", "solutions/engine", "benchmarks")
OF_EACH_TOPIC = ("autograder/checking/checks", "autograder/checking/hidden")
"""Folders with a module for each topic: the page names the folder only."""
INTRODUCTION = """# Every module

This page is for people who look for the place of a change that [the architecture's table](architecture.md#where-do-i-change) does not name.
It lists every module with the first sentences of its docstring.
`make generate` writes it.
"""


def modules() -> dict[str, dict[str, str]]:
    """Return {folder: {file name: its summary}}, folders and files sorted by name."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        folder = path.parent.relative_to(ROOT).as_posix()
        if folder not in OF_EACH_TOPIC or path.name == "__init__.py":
            found.setdefault(folder, {})[path.name] = summary(path)
    return dict(sorted(found.items()))


def summary(path: Path) -> str:
    """Return the first paragraph of a module's docstring as one line of Markdown; "" without a docstring."""
    docstring = ast.get_docstring(parse(path.read_text(encoding="utf-8"))) or ""
    line = " ".join(docstring.split("\n\n")[0].split())
    quoted = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else re.sub(r"([<*_\\|])", r"\\\1", part) for part in quoted)


def page() -> str:
    parts = [INTRODUCTION]
    for folder, files in modules().items():
        named = {name: what for name, what in files.items() if name != "__init__.py"}
        rows = [f"| `{name}` | {what} |" for name, what in named.items()]
        parts += [f"## `{folder}`", files.get("__init__.py", "")]
        if folder in OF_EACH_TOPIC:
            parts.append(f"One module for each topic: `test_{syllabus()[0].topic}.py` and so on.")
        elif rows:
            parts.append("\n".join(["| module | what it is |", "|---|---|", *rows]))
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def write() -> None:
    write_whole(PAGE, page().encode())
