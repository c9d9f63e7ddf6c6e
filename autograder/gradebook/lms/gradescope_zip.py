"""The zip that Gradescope takes as a day's autograder: the course, the class's own material, and two scripts that call it.

It contains answers and hidden checks, as grading needs them; Gradescope shows it to staff alone.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ...base import own
from ...base.files import write_whole
from ...lessons import Day
from .bundle import put

TEMPLATES = Path(__file__).parent / "templates" / "gradescope"
FOLDERS = ("autograder", "course", "solutions", "datasets")
FILES = ("Makefile", "pyproject.toml", "requirements.lock", "README.md")
NOT_NEEDED = ("datasets/models", "course/capstone")


def write_zip(day: Day, folder: Path) -> Path:
    """Write <folder>/<slug>.zip, atomically, and return its path."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("setup.sh", "run_autograder"):
            text = (TEMPLATES / name).read_text(encoding="utf-8").replace("{slug}", day.slug)
            put(archive, name, text.encode(), 0o755)
        for path in _course(day.root):
            put(archive, f"course/{path.relative_to(day.root).as_posix()}", path.read_bytes())
        for path in own.files():
            put(archive, f"course/{own.FOLDER}/{path.relative_to(own.used() or path).as_posix()}", path.read_bytes())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{day.slug}.zip"
    write_whole(path, packed.getvalue())
    return path


def _course(root: Path) -> Iterator[Path]:
    yield from (root / name for name in FILES)
    left_out = [root / name for name in NOT_NEEDED]
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            hidden = any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(root).parts)
            if path.is_file() and not hidden and not any(path.is_relative_to(each) for each in left_out):
                yield path

