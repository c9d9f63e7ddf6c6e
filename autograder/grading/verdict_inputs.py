"""The inputs of a verdict besides the submission. A stored result of grading is valid while none of them changes.

Certification, stored records (`grade --resume`, `round`), a cluster's handshake, canaries and cached results of mutants all use it.
The list is read from the sources: the checks of the topic and all modules that they import, the modules that grade (in the grader's
process and in the worker's), the parts of the kit that any of these or a reference imports, the kit's data, the reference solutions up
to the topic, its tables of known mistakes, its hand-computed numbers, and the class's own files of the topic. Comments, line breaks
and docstrings in Python do not count, except the docstrings of checks, which are their titles.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import platform
import tomllib
from importlib import metadata
from pathlib import Path

from ..base import own
from ..base.course_table import known_topics
from ..base.imports import imported_files, kit_files
from ..base.parsing import parse, without_docstrings
from ..lessons import ROOT, Day, lesson
from ..lessons.syllabus import stamp

GRADERS = ("autograder.grading.grade", "autograder.grading.timing_phase", "autograder.sandbox.process.forkserver")
"""The modules where grading begins: in the grader's process, and in the one that workers are forked from."""
NO_GRADERS = ("autograder.lessons", "autograder.grading.verdict_inputs", "autograder.base.specimen_files", "autograder.grading.records")
"""The modules that graders import and that decide nothing: they read a lesson (its setup and points count separately), write a record."""
LIBRARIES = ("gguf", "ipython", "numpy", "safetensors", "tokenizers", "torch")
NUMBERS = Path("datasets", "hand_computed.toml")
DATA = (".json", ".jsonl", ".safetensors")


def files(topic: str, root: Path = ROOT) -> list[Path]:
    """Return the files that a verdict on this topic depends on, as sorted paths from root, besides NUMBERS and the class's own files."""
    checks = (f"autograder.checking.checks.test_{topic}", f"autograder.checking.hidden.test_{topic}", *own.imports_of(topic))
    found = imported_files(root, (*GRADERS, *checks), lambda name: name.startswith(NO_GRADERS))
    topics = known_topics()
    found |= {Path("solutions") / f"{name}.py" for name in ("__init__", *topics[: topics.index(topic) + 1]) if name not in own.topics()}
    found |= kit_files(root, found, own.imports_of(topic))
    found |= {path for path in mistake_tables(topic) if (root / path).exists()}
    models = root / "datasets" / "models"
    found |= {
        path.relative_to(root) for path in (root / "datasets").rglob("*") if path.suffix in DATA and models not in path.parents
    }
    return sorted(found)


def mistake_tables(topic: str) -> list[Path]:
    return [Path("autograder", "checking", kind, "mistakes", f"{topic}.json") for kind in ("checks", "hidden")]


def digest(topic: str, root: Path = ROOT) -> str:
    """Return a digest of these files, the topic's hand-computed numbers, and the versions of Python and of the libraries in use."""
    of_class = own.inputs(topic)
    known = _known.get((topic, root, of_class))
    if known is None or known[0] != _stamps(known[1]):
        paths = [root / path for path in files(topic, root)]
        watched = (root / NUMBERS, *paths, *of_class)
        known = _known[topic, root, of_class] = (_stamps(watched), watched, _digest(topic, root, paths, of_class))
    return hashlib.sha256(repr((known[2], environment())).encode()).hexdigest()


_known: dict[tuple[str, Path, tuple[Path, ...]], tuple[object, tuple[Path, ...], str]] = {}
"""The digests computed so far, {(topic, root, the class's own files): (file stamps, files, digest)}.

A class of thousands asks again for each submission.
"""


def _stamps(paths: tuple[Path, ...]) -> tuple[object, ...]:
    return tuple(stamp(path) if path.exists() else None for path in paths)


def _digest(topic: str, root: Path, paths: list[Path], of_class: tuple[Path, ...]) -> str:
    found = hashlib.sha256(repr(numbers(topic, (root / NUMBERS).read_bytes())).encode())
    for path in paths:
        found.update(f"\0{path.relative_to(root).as_posix()}\0".encode() + hashlib.sha256(meaning(path, path.read_bytes())).digest())
    for path in of_class:
        found.update(f"\0own/{path.parent.name}\0".encode() + hashlib.sha256(meaning(path, path.read_bytes())).digest())
    return found.hexdigest()


@functools.cache
def environment() -> dict[str, str]:
    """Return the versions of Python and of the libraries that verdicts depend on, without the name of a build ("+cpu")."""
    versions = {name: metadata.version(name).partition("+")[0] for name in LIBRARIES}
    return {"python": ".".join(platform.python_version_tuple()[:2]), **versions}


def of_day(day: Day) -> str:
    """Return the digest for a day's records: of its topic's inputs, its code cells, and the points of its exercises."""
    code = [(cell.role, cell.source) for cell in lesson(day).cells if cell.role != "text"]
    points = [(exercise.name, exercise.points) for exercise in lesson(day).exercises]
    return hashlib.sha256(repr((digest(day.topic, day.root), code, points)).encode()).hexdigest()


def numbers(topic: str, content: bytes) -> object:
    """Return a topic's section of the hand-computed numbers, without the derivations: no verdict depends on these."""
    section = tomllib.loads(content.decode()).get(topic, {})
    return {case: {name: value for name, value in fields.items() if name != "derivation"} for case, fields in section.items()}


def meaning(path: Path, content: bytes) -> bytes:
    """Return the part of a file that verdicts depend on: for Python a digest of the program, for other files every byte.

    Docstrings count only in files of checks, where they are the titles that students see.
    """
    return _program(content, path.parent.name in ("checks", "hidden")) if path.suffix == ".py" else content


@functools.lru_cache(maxsize=1024)
def _program(source: bytes, docstrings: bool) -> bytes:
    tree = parse(source)
    return hashlib.sha256(ast.dump(tree if docstrings else without_docstrings(tree)).encode()).digest()
