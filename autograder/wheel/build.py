"""The wheel's content: a student's bundle of all days, made into one archive, and the package that unpacks it.

The wheel has no hidden checks, specimens or tools for a class. It has the reference solutions, because notebooks of later days call them
for functions that a learner has not written. The solutions are in a zip of their own, so that nobody reads one by accident. The engine is
in the same zip, for the demonstrations of Days 16 and 18, `autograder serve` and `autograder chat`.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from ..base.errors import CourseError
from ..base.files import write_whole
from ..base.imports import imported_files
from ..gradebook.lms import bundle
from ..lessons import ROOT, Day, prepare_work, syllabus
from ..site.address import repository

NAME = "from-prompt-to-token"
PACKAGE = "prompt_to_token"
ARCHIVE = "course.zip"
HERE = Path(__file__).parent
LICENCES = ("LICENSE", "NOTICE")
COMMANDS = ("commands.student", "commands.course", "commands.serving")
"""Modules of `autograder` for a learner's terminal."""
STAFF = tuple(
    f"autograder.{name}"
    for name in (
        "certification", "checking.hidden.", "demo", "generate", "gradebook.booking", "gradebook.books", "gradebook.lms.bundle",
        "gradebook.policy", "gradebook.reports", "gradebook.results", "grading.canaries", "grading.executors", "grading.run",
        "grading.timing_phase", "hub", "race", "site", "wheel",
    )
)  # fmt: skip
"""Modules that a command imports when it needs them, and that a learner's copy does not have."""
OF_THE_RACE = ("capstone.py",)
"""Modules of the engine for the race, which is in a checkout alone."""
NOT_FOR_LEARNERS = ("start.py", "requirements.txt")
"""Files of a bundle that the wheel's own command and its metadata replace."""
CLI = '''"""The command `autograder` as a module, for processes that start another one: the installed package's."""

from prompt_to_token.commands import main

if __name__ == "__main__":
    main()
'''


def build(folder: Path, root: Path = ROOT) -> Path:
    """Write the wheel into a folder and return its path. Raises CourseError if a day is not released or pip cannot build."""
    with tempfile.TemporaryDirectory(prefix="wheel-") as temporary:
        source, made = Path(temporary) / "source", Path(temporary) / "made"
        stage(source, root)
        options = ["--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", str(made)]
        command = [sys.executable, "-m", "pip", "wheel", *options, str(source)]
        # Files' times in the wheel must not depend on the checkout.
        done = subprocess.run(command, env=os.environ | {"SOURCE_DATE_EPOCH": "315532800"}, capture_output=True, text=True, check=False)
        wheels = list(made.glob("*.whl"))
        if done.returncode or not wheels:
            reason = ([line for line in done.stderr.splitlines() if line.strip()] or ["pip gave no reason"])[-1]
            raise CourseError(f"pip cannot build the wheel: {reason.strip()}")
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / ".gitignore").exists():
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        path = folder / wheels[0].name
        write_whole(path, wheels[0].read_bytes())
        return path


def stage(place: Path, root: Path = ROOT) -> None:
    """Write the sources of the wheel: its package with the archive, and its metadata."""
    package = place / PACKAGE
    shutil.copytree(HERE / PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / ARCHIVE).write_bytes(archive_bytes(root))
    shutil.copyfile(HERE / "README.md", place / "README.md")
    for name in LICENCES:
        shutil.copyfile(root / name, place / name)
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    (place / "pyproject.toml").write_text(metadata(project, repository(root / "pyproject.toml")), encoding="utf-8")


def metadata(course: dict[str, Any], address: str) -> str:
    """Return the wheel's pyproject.toml, with the course's requirements and extras. address: the repository's address, or empty."""
    project = course["project"]
    command = f"{PACKAGE}.start:main"
    tables: dict[str, dict[str, Any]] = {
        "build-system": course["build-system"],
        "project": {name: project[name] for name in ("name", "version", "description", "requires-python", "license", "dependencies")}
        | {"readme": "README.md", "license-files": list(LICENCES)},
        "project.optional-dependencies": project["optional-dependencies"],
        "project.urls": {"repository": address} if address else {},
        "project.scripts": {"prompt-to-token": command, NAME: command, "autograder": f"{PACKAGE}.commands:main"},
        "tool.setuptools": {"packages": [PACKAGE], "package-data": {PACKAGE: [ARCHIVE]}},
    }
    return "\n".join(f"[{name}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in of.items()) for name, of in tables.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)  # a TOML string, or an array of strings, is written as in JSON


# The archive


def archive_bytes(root: Path = ROOT) -> bytes:
    """Return the zip that becomes the learner's folder. The same course gives the same bytes."""
    days = [day for day in syllabus(root) if day.ready]
    with tempfile.TemporaryDirectory(prefix="wheel-") as temporary:
        place = Path(temporary)
        with zipfile.ZipFile(io.BytesIO(bundle.bundle_bytes(days[-1]))) as of_last_day:
            of_last_day.extractall(place)
        folder = place / bundle.UNPACKED
        for name in NOT_FOR_LEARNERS:
            (folder / name).unlink()
        for path in sorted(command_files(root)):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((root / path).read_bytes())
        (folder / "autograder" / "cli.py").write_text(CLI, encoding="utf-8", newline="\n")
        for day in days:
            stubs = bundle.stubs(day).replace(f"\n{bundle.ANSWERS_ARE_LEFT_OUT}\n", "\n")
            (folder / "solutions" / f"{day.topic}.py").write_text(stubs, encoding="utf-8", newline="\n")
        shutil.copyfile(HERE / "solutions_package.py", folder / "solutions" / "__init__.py")
        (folder / "solutions" / "answers.zip").write_bytes(answers_bytes(days, root))
        shutil.copyfile(HERE / "README.md", folder / "README.md")
        prepare_work(folder / "work", folder)
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:  # the wheel compresses it
            for path in sorted(each for each in folder.rglob("*") if each.is_file()):
                bundle.put(archive, path.relative_to(folder).as_posix(), path.read_bytes())
        return made.getvalue()


def command_files(root: Path) -> set[Path]:
    """Return the files of the commands that need no hidden checks, no correct and incorrect solutions, and no class."""
    return imported_files(root, [f"autograder.{name}" for name in COMMANDS], lambda name: name.startswith(STAFF))


def answers_bytes(days: list[Day], root: Path) -> bytes:
    """Return the zip of the package `solutions`: each day's module, and the engine."""
    engine = sorted(path for path in (root / "solutions" / "engine").rglob("*.py") if path.name not in OF_THE_RACE)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (root / "solutions" / "__init__.py", *(day.solutions_path for day in days), *engine):
            bundle.put(archive, path.relative_to(root / "solutions").as_posix(), path.read_bytes())
    return made.getvalue()
