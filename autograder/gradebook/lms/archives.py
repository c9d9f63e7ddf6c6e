"""Files from a zip or a folder that somebody else filled: read one by one, and never unpacked.

A member is read into memory within limits, and its name is never used as a path: the grader makes each output path from a
student's id and a day. So no archive can write outside the class's folder, whatever its names say.
"""

from __future__ import annotations

import datetime
import os
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import CourseError
from ...sandbox.protocol.text import encodable
from ...sandbox.submitted_file import MAX_BYTES

MAX_MEMBERS = 20_000
MAX_TOTAL_BYTES = 4 * 1024**3
"""The limit for all notebooks of one archive together."""
MAX_DIRECTORY_BYTES = 16 * 1024**2
"""The limit for a zip's table of contents, checked before reading it: 100 to 200 bytes a member are usual."""
MAX_RATIO = 200
RATIO_FROM_BYTES = 1024**2
"""The size from which the compression ratio counts: notebooks compress to a third, with much white space to a fiftieth."""
MAX_NAME = 300
NOT_UTF8 = "a name that is not UTF-8: rename the file"
IGNORED = re.compile(r"(^|/)(__MACOSX/|\.DS_Store$|Thumbs\.db$|desktop\.ini$|\.ipynb_checkpoints/)")
DRIVE = re.compile(r"^[A-Za-z]:")
ENCRYPTED = 0x1


@dataclass(frozen=True)
class Member:
    """A notebook in an archive. name: its path in the archive, with slashes; modified: the archive's time, without a time zone."""

    name: str
    modified: datetime.datetime | None
    read: Callable[[], bytes]
    """A function that returns the content, or raises Refused."""


class Refused(Exception):
    """A member that is left out, with the reason in one line."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{printable(name)}: {reason}")


def printable(name: str) -> str:
    """Return a foreign name in a form that is safe to print in a terminal."""
    shown = "".join(c if c.isprintable() else "?" for c in name[:120])
    return shown + ("…" if len(name) > 120 else "")


def members(path: Path) -> Iterator[Member | Refused]:
    """Yield the notebooks in a zip or a folder, and a refusal for everything else. Raises CourseError if nothing can be read."""
    if path.is_dir():
        yield from _folder_members(path)
    elif path.suffix.lower() == ".ipynb" and path.is_file() and not path.is_symlink():
        problem = name_problem(path.name)
        yield Refused(path.name, problem) if problem is not None else _file_member(path, path.name)
    elif path.is_file():
        yield from _zip_members(path)
    else:
        raise CourseError(f"no file or folder {path}: give the download of the learning platform")


def name_problem(name: str) -> str | None:
    """Return the reason why a name is not allowed in an archive of submissions; None if it is allowed."""
    if not name or any(not c.isprintable() for c in name):
        return "an empty name, or one with control characters" if encodable(name) == name else NOT_UTF8
    if len(name) > MAX_NAME:
        return f"a name of {len(name)} characters, more than {MAX_NAME}"
    if name.startswith(("/", "\\")) or DRIVE.match(name) or "\\" in name:
        return "an absolute path, or one of another system"
    if any(part in ("..", ".", "") for part in name.split("/")):
        return "a path that leads out of the archive"
    return None


def _folder_members(folder: Path) -> Iterator[Member | Refused]:
    seen = 0
    for root, folders, files in os.walk(folder):
        folders.sort()
        links = [name for name in folders if os.path.islink(os.path.join(root, name))]
        for name in sorted([*files, *links]):
            path = Path(root, name)
            shown = path.relative_to(folder).as_posix()
            seen += 1
            if seen > MAX_MEMBERS:
                raise CourseError(f"{folder} holds more than {MAX_MEMBERS:,} files: give the folder of one download")
            if IGNORED.search(shown):
                continue
            if not stat.S_ISREG(path.lstat().st_mode):
                yield Refused(shown, "a link or a device, not a plain file")
            elif (problem := name_problem(shown)) is not None:
                yield Refused(shown, problem)
            elif path.suffix.lower() != ".ipynb":
                yield Refused(shown, "not a notebook (.ipynb)")
            else:
                yield _file_member(path, shown)


def _file_member(path: Path, shown: str) -> Member:
    def read() -> bytes:
        try:
            with path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise Refused(shown, f"cannot be read ({error.strerror})") from None
        return _within_limit(shown, content)

    return Member(shown, _time(path.stat().st_mtime), read)


def _time(seconds: float) -> datetime.datetime | None:
    """Return a file's time; None if it is not a valid date."""
    try:
        return datetime.datetime.fromtimestamp(seconds)
    except (ValueError, OverflowError, OSError):
        return None


def _within_limit(name: str, content: bytes) -> bytes:
    if len(content) > MAX_BYTES:
        raise Refused(name, f"more than {MAX_BYTES / 1e6:.0f} MB")
    return content


def _zip_members(path: Path) -> Iterator[Member | Refused]:
    archive = _opened(path)  # open as long as a member may be read
    entries = [entry for entry in archive.infolist() if not entry.is_dir() and not IGNORED.search(entry.orig_filename)]
    if len(entries) > MAX_MEMBERS:
        raise CourseError(f"{path} holds {len(entries):,} files, more than {MAX_MEMBERS:,}: give the download of one assignment")
    names = Counter(entry.orig_filename for entry in entries)
    budget = MAX_TOTAL_BYTES
    for entry in entries:
        reason = _refusal(entry, names)
        if reason is None and (budget := budget - entry.file_size) < 0:
            reason = f"the notebooks of this archive have more than {MAX_TOTAL_BYTES / 1e9:.0f} GB together"
        yield Refused(entry.orig_filename, reason) if reason else _zip_member(archive, entry)


def _refusal(entry: zipfile.ZipInfo, names: Counter[str]) -> str | None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if (problem := name_problem(entry.orig_filename)) is not None:
        return problem
    if kind not in (0, stat.S_IFREG):
        return "a link or a device, not a plain file"
    if names[entry.orig_filename] > 1:
        return f"this name occurs {names[entry.orig_filename]} times in the archive, so the right file is unknown"
    if not entry.orig_filename.lower().endswith(".ipynb"):
        return "not a notebook (.ipynb); an archive inside an archive is not opened"
    if entry.flag_bits & ENCRYPTED:
        return "encrypted"
    if entry.file_size > MAX_BYTES:
        return f"{entry.file_size / 1e6:,.0f} MB, more than {MAX_BYTES / 1e6:.0f}"
    if entry.file_size > RATIO_FROM_BYTES and entry.file_size > MAX_RATIO * entry.compress_size:
        return f"compressed to less than 1/{MAX_RATIO}: no notebook compresses so well"
    return None


def _zip_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Member:
    def read() -> bytes:
        try:
            with archive.open(entry) as file:
                return _within_limit(entry.orig_filename, file.read(MAX_BYTES + 1))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
            raise Refused(entry.orig_filename, f"damaged ({error})") from None

    try:
        modified: datetime.datetime | None = datetime.datetime(*entry.date_time)
    except ValueError:
        modified = None
    return Member(entry.orig_filename, modified, read)


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        with path.open("rb") as file:
            # Before a table of contents is read: a hundred megabytes of one become gigabytes of objects.
            end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
        if end is not None and max(end[zipfile._ECD_SIZE], 0) > MAX_DIRECTORY_BYTES:  # type: ignore[attr-defined]
            raise CourseError(f"{path} has a table of contents of {end[zipfile._ECD_SIZE] / 1e6:.0f} MB: download it again")  # type: ignore[attr-defined]
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, UnicodeDecodeError, ValueError, OSError) as error:
        raise CourseError(f"{path} is not a readable zip ({error}): download it again") from None
