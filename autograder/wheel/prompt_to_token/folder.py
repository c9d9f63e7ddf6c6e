"""The learner's folder: unpacked from the archive, and updated by later versions without overwriting the learner's changes.

`.prompt_to_token.json` in the folder records the checksum of each unpacked file. A later version replaces the files that still have their
recorded checksum, and leaves changed files alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import sysconfig
import zipfile
from dataclasses import dataclass, field
from importlib import metadata, resources
from pathlib import Path, PurePosixPath

DISTRIBUTION = "from-prompt-to-token"
DEFAULT = "from-prompt-to-token"
RECORD = ".prompt_to_token.json"
PATH_FILE = "prompt_to_token_folder.pth"
"""The file in the environment's packages that names the folder, so that every kernel of the environment finds the course."""


class FolderError(Exception):
    """A folder that cannot be used. The message says why and what to do."""


@dataclass
class LaidOut:
    """The files of one run: new files, updated files, changed files that were kept, and files that are no longer needed."""

    new: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    @property
    def kept_notebooks(self) -> list[str]:
        return [name for name in self.kept if name.endswith(".ipynb")]


def version() -> str:
    return metadata.version(DISTRIBUTION)


def address() -> str:
    """Return the address of the course's repository, or the placeholder that its pages use."""
    urls = (url.partition(", ") for url in metadata.metadata(DISTRIBUTION).get_all("Project-URL") or ())
    return next((where for label, _, where in urls if label == "repository"), "ADDRESS")


def archive() -> bytes:
    return resources.files(__package__ or "prompt_to_token").joinpath("course.zip").read_bytes()


def is_course(folder: Path) -> bool:
    return (folder / RECORD).is_file()


def course_around(here: Path) -> Path | None:
    """Return the nearest course folder at or above a path, or None."""
    return next((folder for folder in (here, *here.parents) if is_course(folder)), None)


def lay_out(folder: Path, content: bytes) -> LaidOut:
    """Write the archive's files into the folder, but keep every file that somebody changed. Raises FolderError, OSError."""
    recorded = _read_record(folder)
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        course = {name: files.read(name) for name in files.namelist()}
    now = {name: hashlib.sha256(data).hexdigest() for name, data in course.items()}
    known = {name: sorted({*recorded.get(name, ()), *([now[name]] if name in now else [])}) for name in {*recorded, *now}}
    folder.mkdir(parents=True, exist_ok=True)
    _write_record(folder, known)  # before the files: a run that is cut off is completed by the next one
    done = LaidOut()
    for name, data in course.items():
        path = folder / PurePosixPath(name)
        there = _sha256(path)
        if there == now[name]:
            continue
        if there is None or there in recorded.get(name, ()):
            (done.new if there is None else done.updated).append(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, data)
        else:
            done.kept.append(name)
    for name in sorted(recorded.keys() - now.keys()):
        path = folder / PurePosixPath(name)
        if _sha256(path) in recorded[name]:
            path.unlink()
            done.removed.append(name)
    _write_record(folder, {name: known[name] if name in done.kept else [now[name]] for name in now})
    return done


def _read_record(folder: Path) -> dict[str, list[str]]:
    """Return {file: checksums of the versions that were laid out}. Raises FolderError if the folder contains something else."""
    try:
        files = json.loads((folder / RECORD).read_text(encoding="utf-8"))["files"]
        return {str(name): [str(each) for each in checksums] for name, checksums in files.items()}
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FolderError(f"{folder / RECORD} is damaged: name another folder, and copy your notebooks into its work/") from None
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"{folder} is a file: name another folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise FolderError(f"{folder} has files that prompt-to-token did not put there: name another folder, as in `prompt-to-token course`")
    return {}


def _write_record(folder: Path, files: dict[str, list[str]]) -> None:
    text = json.dumps({"version": version(), "files": dict(sorted(files.items()))}, indent=0)
    _write(folder / RECORD, text.encode())


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".part-{os.getpid()}-{path.name}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _sha256(path: Path) -> str | None:
    """Return a file's checksum; "" if the path is not a file, None if it does not exist."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return "" if os.path.lexists(path) else None


# The environment's kernels


def show_to_kernels(folder: Path) -> bool:
    """Write the folder's path into this virtual environment, so that kernels of other programs import the course.

    Return False if there is no environment, or if it cannot be written to.
    """
    if sys.prefix == sys.base_prefix:
        return False
    try:
        _write(Path(sysconfig.get_path("purelib")) / PATH_FILE, f"{folder}\n".encode())
    except OSError:
        return False
    return True


def shown_to_kernels() -> Path | None:
    """Return the folder that `show_to_kernels` wrote, if the course is still there."""
    try:
        folder = Path((Path(sysconfig.get_path("purelib")) / PATH_FILE).read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return None
    return folder if is_course(folder) else None
