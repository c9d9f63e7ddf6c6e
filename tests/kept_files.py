"""Files of tests whose results are kept by what they read.

What a test of a browser, a cluster or a real model depends on is more than anyone would write down. The file system knows it: while such
a file of tests is run to be kept (`python -m tests.kept_files`, a part of `make keep`, one file after another), the time at which each of
the project's files was last read says which were, by whichever process. Where none of them has changed since, and no name was added to
the folders that were looked through, the tests that passed have nothing to do: pytest says `kept`. A share is found out again each time,
as of all that is kept (kept.py), and whoever names a file or a test runs it.

Kept for this system, processor and Python; the packages' versions are among the files. The system's own programs (a browser, PostgreSQL,
HAProxy) and what its kernel allows are not. So the files that are about the machine are not here: test_isolation, test_attacks,
test_timing, test_race, test_processes, test_environment.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.files import write_whole
from autograder.imports import imported_files
from autograder.lessons import ROOT

FOLDER = Path(__file__).parent / "kept" / "files"
FILES = (
    "test_accessibility", "test_bridge", "test_browser", "test_bundle", "test_calls", "test_capture_rehearsed", "test_certified",
    "test_chat_page", "test_cheat_sheet", "test_class_server", "test_cluster", "test_collect", "test_day04", "test_day06", "test_day14",
    "test_day14_lesson", "test_day15", "test_day15_lesson", "test_day16_lesson", "test_day17_lesson", "test_day18_lesson",
    "test_engine_benchmark", "test_engine_surface", "test_exchange", "test_export", "test_gloo", "test_gradescope_zip", "test_grading",
    "test_grading_pages", "test_instructor", "test_kit_models", "test_kit_tokenizers", "test_ladder", "test_late_work",
    "test_lessons", "test_postgresql", "test_products", "test_pytest_plugin", "test_quantized_engine", "test_ranks", "test_regrade",
    "test_replicas", "test_report", "test_resume", "test_round", "test_scenes", "test_serve", "test_serve_command",
    "test_serving_benchmark", "test_serving_engine", "test_similarity", "test_site", "test_site_parts", "test_steppers",
    "test_story", "test_student", "test_writer",
)  # fmt: skip
"""Those that take long, or longer than all others of `make quick`."""
ALWAYS = ("pyproject.toml", "requirements.lock", "requirements-dev.lock", "requirements-docs.lock")
"""Count for every test: an environment made of them is read where no file of the project is."""
OF_ALL = (".", "tests", "tests/conftest.py", "tests/kept.py", "tests/kept_files.py")
"""What pytest reads for every test and is nothing to what one says: which names there are, in which order, by whom and whether they run."""


@dataclass(frozen=True)
class KeptFile:
    digest: str
    passed: list[str]
    """Tests, as pytest names them after the file's name."""
    read: list[str]
    """Files of the project, and folders, whose names count."""


def kept_tests(file: str, folder: Path = FOLDER) -> frozenset[str]:
    """The tests of this file that passed when all that they read was as it is."""
    path = folder / f"{file}.json"
    if not path.exists():
        return frozenset()
    entry = KeptFile(**json.loads(path.read_text(encoding="utf-8")))
    return frozenset(entry.passed if digest(entry.read) == entry.digest else ())


def digest(read: Iterable[str], root: Path = ROOT) -> str:
    there = project(root)
    told = hashlib.sha256(repr((sys.platform, platform.machine(), sys.version_info[:2])).encode())
    for path in sorted(read):
        told.update(f"\0{path}\0{there.get(path) or contents(root / path)}".encode())
    return told.hexdigest()[:16]


@functools.cache
def contents(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "not there"


@functools.cache
def project(root: Path) -> dict[str, str]:
    """Every file and folder that is not ignored, from root; of a folder the names in it, "" of a file. Nothing where there is no git."""
    try:
        listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        return {}
    names: dict[str, set[str]] = {}
    for file in filter(None, files):
        for path in (Path(file), *Path(file).parents[:-1]):
            names.setdefault(path.parent.as_posix(), set()).add(path.name)
    return {**dict.fromkeys(filter(None, files), ""), **{folder: " ".join(sorted(inside)) for folder, inside in names.items()}}


def forget_reading(root: Path) -> None:
    """As if nobody had ever read the project's files: the next reading is noted, also where the system notes only the first one."""
    for path in project(root):
        for each in (root / path, *compiled(root / path)):
            if each.exists() and not each.is_symlink():
                os.utime(each, ns=(0, each.stat().st_mtime_ns))


def written(root: Path) -> dict[str, int]:
    """When each file of the project was last written, in nanoseconds."""
    return {path: (root / path).stat().st_mtime_ns for path in project(root) if (root / path).is_file()}


def was_read(root: Path) -> list[str]:
    """Files and folders of the project that some process has read since, and what Python's files among them may import.

    A worker in a box reads through a mount that cannot be written to, and leaves no trace there: hence what may be imported.
    """

    def noted(path: Path) -> bool:
        return path.exists() and path.stat().st_atime_ns != 0

    read = {path for path in project(root) if any(noted(each) for each in (root / path, *compiled(root / path)))}
    modules = [path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in read if path.endswith(".py")]
    for package in ("autograder", "course"):
        read |= {path.as_posix() for path in imported_files(root, modules, package=package)}
    return sorted(path for path in {*read, *ALWAYS} - set(OF_ALL) if not f"{path}/".startswith("tests/kept/"))


def compiled(path: Path) -> list[Path]:
    return list((path.parent / "__pycache__").glob(f"{path.stem}.*.pyc")) if path.suffix == ".py" else []


def find_out(file: str, folder: Path = FOLDER) -> bool:
    """Runs these tests and keeps what passes. -> whether nothing failed, and nothing that was read was changed meanwhile"""
    forget_reading(ROOT)
    begun = written(ROOT)
    with tempfile.TemporaryDirectory() as made:
        told = Path(made, "passed")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/{file}.py", "--passed", str(told)]
        run = subprocess.run(command, cwd=ROOT, env=os.environ | {"KEPT_DRAW": "all"}, capture_output=True, text=True)
        passed = sorted(told.read_text(encoding="utf-8").splitlines()) if told.exists() else []
    read = was_read(ROOT)
    if f"tests/{file}.py" not in read:
        raise SystemExit("This file system does not note when a file is read (it is mounted with noatime?): nothing can be kept on it")
    if run.returncode:
        print(run.stdout[-4000:], run.stderr[-2000:], sep="\n")
    contents.cache_clear()
    project.cache_clear()
    ended = written(ROOT)
    if changed := [path for path in read if ended.get(path) != begun.get(path)]:
        print(f"{file}: not kept, {', '.join(changed)} changed while it ran", flush=True)
        return False
    write_whole(folder / f"{file}.json", (json.dumps(asdict(KeptFile(digest(read), passed, read)), indent=1) + "\n").encode())
    print(f"{file}: {len(passed)} passed and kept; {len(read)} files and folders read", flush=True)
    return run.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kept_files", description="Run and keep the files of tests that are due.")
    parser.add_argument("files", nargs="*", help="these, whether due or not")
    asked = [Path(file).stem for file in parser.parse_args().files]
    FOLDER.mkdir(parents=True, exist_ok=True)
    due = asked or [file for file in FILES if not kept_tests(file)]
    failed = [file for file in due if not find_out(file)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
