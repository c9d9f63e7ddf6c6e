"""A day to hand out: one zip with the notebook and everything that its checks need, and no answer of this day or a later one.

The contents are an allow list, found by following the imports of `autograder.student`, so that a new file of the course does not slip in.
The same checkout always gives the same zip, byte for byte.
"""

from __future__ import annotations

import ast
import io
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...base import own
from ...base.errors import CourseError
from ...base.imports import imported_files, names_imported
from ...lessons import Day, lesson, marks, release_notebook_path, start_bytes, syllabus
from ...notebook import durations

ROOTS = ("student", "doctor", "authoring")
"""Modules of `autograder` that notebooks and checks import."""
FORBIDDEN = ("autograder.checking.hidden.", "autograder.certification", "autograder.demo")
DATA = ("multilingual.jsonl", "smollm2_tokenizer", "tiny")
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can store: its files' times must not depend on the checkout."""
UNPACKED = "from-prompt-to-token"
"""The folder that unpacking makes: the same for all days, so that a later day lands beside the earlier ones."""
TEMPLATES = Path(__file__).parent / "templates"
SECTION = re.compile(r"^\[(\w+)\.(\w+)\]$", re.MULTILINE)
STUB = re.compile(r"^( *)raise NotImplementedError\(.*\)$", re.MULTILINE)
STUB_HEAD = '"""The exercises of day {number}: names and descriptions, no answers."""\n\nfrom __future__ import annotations\n'
ANSWERS_ARE_LEFT_OUT = "ANSWERS_ARE_LEFT_OUT = True  # checks that compare with the reference solution are skipped"
"""The line by which the runner recognises a module of stubs."""


def write_bundle(day: Day, folder: Path) -> Path:
    """Write <folder>/<slug>.zip, atomically, and return its path."""
    from ...lessons.notebooks import write_if_changed

    path = folder / f"{day.slug}.zip"
    write_if_changed(path, bundle_bytes(day))
    return path


def bundle_bytes(day: Day) -> bytes:
    """Return the zip of a day. Raises CourseError if the day has no release notebook."""
    if not release_notebook_path(day).exists():
        raise CourseError(f"{day.slug} is not released: run `autograder release {day.number}`")
    with tempfile.TemporaryDirectory(prefix="bundle-") as temporary:
        place = Path(temporary)
        _lay_out(day, place)
        packed = io.BytesIO()
        # Stored, not deflated: compressors of different versions give different bytes.
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(p for p in place.rglob("*") if p.is_file()):
                put(archive, f"{UNPACKED}/{path.relative_to(place).as_posix()}", path.read_bytes())
        return packed.getvalue()


def put(archive: zipfile.ZipFile, name: str, content: bytes, mode: int = 0o644) -> None:
    """Write a file into a zip with a fixed time and system, so that the zip's bytes depend only on the files."""
    entry = zipfile.ZipInfo(name, FIXED_TIME)
    entry.create_system = 3  # the bytes say which system made the zip: always the same one
    entry.external_attr = (0o100000 | mode) << 16
    archive.writestr(entry, content, archive.compression)


def _lay_out(day: Day, place: Path) -> None:
    root = day.root
    every = syllabus(None if day.own else root)
    days = [each for each in every if each.ready and each.number <= day.number]
    earlier = [each for each in every if each.number < day.number]
    for module in sorted(imported_modules(root, imports_of_checks(days))):
        _copy(root, place, module)
    for each in days:
        if (table := root / "autograder" / "checking" / "checks" / "mistakes" / f"{each.topic}.json").exists():
            _copy(root, place, table.relative_to(root))
    for package in ("autograder/checking/checks", "autograder/checking/hidden", "course", "solutions"):
        _copy(root, place, Path(package) / "__init__.py")
    for each in days:
        _copy(each.home, place, each.lesson_path.relative_to(each.home))
        for path in _plain_files(each.folder / "figures"):
            _copy(each.home, place, path.relative_to(each.home))
        if each.own:
            _copy(each.own, place / "autograder" / "checking", each.checks_path.relative_to(each.own))
    for each in earlier:
        if each.solutions_path.exists():
            _copy(each.home, place, each.solutions_path.relative_to(each.home))
    _write(place / day.solutions_path.relative_to(day.home), stubs(day))
    # Earlier days' notebooks came with their own bundles; what a student lacks can still be read and done.
    for each in days:
        if release_notebook_path(each).exists():
            _copy(each.home, place, release_notebook_path(each).relative_to(each.home))
    for folder in ("course/kit", "course/lab"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                _copy(root, place, path.relative_to(root))
    for name in DATA:
        source = root / "datasets" / name
        for path in [source] if source.is_file() else _plain_files(source):
            _copy(root, place, path.relative_to(root))
    _write(place / "datasets" / "hand_computed.toml", numbers(days))
    _write(place / "autograder" / "notebook" / "pace.json", durations.table_text({each.topic for each in days}))
    tables = [(folder / own.SYLLABUS).read_text(encoding="utf-8") for folder in (root, day.own) if folder]
    _write(place / own.SYLLABUS, "\n".join(tables))
    _copy(root, place, Path("course/start_here.md"))
    (place / "course" / "start_here.ipynb").write_bytes(start_bytes(place))
    _write(place / "requirements.txt", requirements(root))
    for name in ("README.md", "start.py"):
        text = (TEMPLATES / "bundle" / name).read_text(encoding="utf-8")
        _write(place / name, text.replace("{day}", str(day.number)).replace("{title}", day.title).replace("{slug}", day.slug))


def _plain_files(folder: Path) -> Iterator[Path]:
    """Yield a folder's files without the scripts that made them."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in (".py", ".pyc") and not path.name.startswith("."):
            yield path


def _copy(root: Path, place: Path, name: Path) -> None:
    target = place / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / name, target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def imported_modules(root: Path, more: Iterable[str] = ()) -> set[Path]:
    """Return the files of `autograder` that notebooks and checks may import, as paths from root. ROOTS and `more` are the starting points.

    Raises CourseError if one of them imports a module that no student may have.
    """

    def refused(name: str) -> bool:
        if name.startswith(FORBIDDEN):
            raise CourseError(f"a bundle cannot be made: students' modules import {name}, which students do not get; remove that import")
        return False

    return imported_files(root, ("autograder", *(f"autograder.{name}" for name in (*ROOTS, *more))), refused)


def imports_of_checks(days: Iterable[Day]) -> Iterator[str]:
    """Yield the modules of `autograder` that contain the visible checks of these days.

    For a class's own day, yield the modules that its checks import.
    """
    for day in days:
        if day.own:
            names = names_imported(day.checks_path.read_text(encoding="utf-8"), "")
            yield from (name.removeprefix("autograder.") for name in names if name.startswith("autograder."))
        else:
            yield f"checking.checks.test_{day.topic}"


def stubs(day: Day) -> str:
    """Return a solutions module with every exercise of the day and no answer, for comparison with the lesson.

    The module has the imports of the real one, because checks take types of earlier days from it.
    """
    source = day.solutions_path.read_text(encoding="utf-8")
    defined = marks.definitions(source)
    imports = [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    wanted = [ast.unparse(node) for node in imports if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    parts = [STUB_HEAD.format(number=day.number) + "\n" + "\n".join([*wanted, "", ANSWERS_ARE_LEFT_OUT])]
    for exercise in lesson(day).exercises:
        text = marks.without_answers(marks.source_of(source, defined[exercise.name]))
        parts.append(STUB.sub(rf"\1{marks.BEGIN}\n\g<0>\n\1{marks.END}", text))
    return "\n\n".join(parts) + "\n"


def numbers(days: list[Day]) -> str:
    """Return the hand-computed numbers that the visible checks of these days name, as an exact copy of the file's sections."""
    text = (days[0].root / "datasets" / "hand_computed.toml").read_text(encoding="utf-8")
    wanted = set()
    for day in days:
        checks = day.checks_path.read_text(encoding="utf-8")
        wanted |= {(day.topic, n.value) for n in ast.walk(ast.parse(checks)) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    heads = list(SECTION.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    sections = [text[head.start() : end].rstrip() for head, end in zip(heads, ends, strict=True) if head.groups() in wanted]
    return "\n\n".join(sections) + "\n"


def requirements(root: Path) -> str:
    """Return the exact versions that the course was tested with."""
    lines = (root / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")) + "\n"
