"""The collecting of submissions with nbgrader, from a class whose students have accounts of their own.

A student can write anything into the exchange: names, links, pipes, a hundred gigabytes. nbgrader trusts the time in an entry's name, only
warns if the entry has another owner, follows links with the instructor's rights, and stops collecting at a name that it cannot read. This
module reports each bad submission in one line and collects the others.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import stat
from pathlib import Path
from typing import Any

from nbgrader.exchange.default.collect import ExchangeCollect
from nbgrader.utils import parse_utc

from ..gradebook.books.reading import SECRET, read_secret
from ..grading.tasks import is_student_id
from ..sandbox.submitted_file import MAX_BYTES

HAND_IN = "hand_in.txt"
"""The file beside a collected notebook with its name in the exchange."""
NO_TIME = "1970-01-01 00:00:00 UTC"


class CollectOwned(ExchangeCollect):
    """A collector that takes each student's newest notebook, if the student's own account handed it in.

    If all students share one account, nbgrader's option `check_owner` is off, and every notebook is taken.
    """

    src_records: list[dict[str, Any]]

    def init_src(self) -> None:
        super().init_src()
        self.src_records = [record for record in self.src_records if self._is_own(record)]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        try:
            record: dict[str, Any] = super()._path_to_record(path)
        except Exception:  # a name such as ada+day01_softmax+yesterday
            return {"username": "", "filename": Path(path).name, "timestamp": parse_utc(NO_TIME)}
        return record

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Sort the newest first, and entries of other owners last."""
        newest_first: list[dict[str, Any]] = super()._sort_by_timestamp(records)
        return sorted(newest_first, key=lambda record: not self._is_own(record, warn=False))

    def _is_own(self, record: dict[str, Any], *, warn: bool = True) -> bool:
        name, path = record["username"], Path(self.inbound_path, record["filename"])
        try:
            found = path.lstat()
        except OSError:  # taken away since it was listed
            return False
        try:
            owner = pwd.getpwuid(found.st_uid).pw_name
        except KeyError:
            owner = f"number {found.st_uid}"
        own = is_student_id(name) and (owner == name or not self.check_owner) and stat.S_ISDIR(found.st_mode)
        if warn and not own:
            self.log.warning(f"left out: {record['filename']!a} was put there by {owner} and is not a submission of {name or 'anybody'}")
        return own

    def copy_files(self) -> None:
        """Collect as nbgrader does, but recognise the last collected submission by its name.

        nbgrader compares the times in timestamp.txt. `autograder collect` writes there the time when it first saw the file, which is later
        than the hand-in. A submission handed in between these two times would never be collected.
        """
        if not self.src_records:
            self.log.warning(f"No submissions of {self.coursedir.assignment_id!r} to collect")
        for record in self.src_records:
            name, folder = record["username"], self.coursedir.submitted_directory
            dest = Path(self.coursedir.format_path(folder, name, self.coursedir.assignment_id))
            if dest.exists() and (not self.update or last_collected(dest) == record["filename"]):
                self.log.info(f"No newer submission to collect: {name} {self.coursedir.assignment_id}")
                continue
            self.log.info(f"{'Updating' if dest.exists() else 'Collecting'} submission: {name} {self.coursedir.assignment_id}")
            self.do_copy(os.path.join(self.inbound_path, record["filename"]), str(dest))

    def do_copy(self, src: str, dest: str, log: object = None) -> None:
        """Copy the notebook if its owner could read it. The check is needed because the copy is made with the instructor's rights."""
        notebook = f"{self.coursedir.assignment_id}.ipynb"
        try:
            owner = os.lstat(src).st_uid
            handle = os.open(Path(src, notebook), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            self._leave_out(src, f"{notebook}: {error.strerror}")
            return
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_uid != owner:
                self._leave_out(src, f"{notebook} is not a file of its owner")
                return
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            self._leave_out(src, f"{notebook} has more than {MAX_BYTES / 1e6:.0f} MB")
            return
        shutil.rmtree(dest, ignore_errors=True)
        Path(dest).mkdir(parents=True)
        Path(dest, notebook).write_bytes(content)
        Path(dest, HAND_IN).write_text(Path(src).name, encoding="utf-8")
        Path(dest, "timestamp.txt").write_text(Path(src).name.rsplit("+", 3)[2], encoding="utf-8")
        # Without a secret nobody could fetch this feedback, and nbgrader would release no feedback at all.
        Path(dest, SECRET).write_bytes(read_secret(Path(src)) or secrets.token_hex(64).encode())

    def _leave_out(self, src: str, why: str) -> None:
        self.log.warning(f"left out: {Path(src).name!a}: {why}")


def last_collected(folder: Path) -> str:
    """Return the exchange name of the collected submission in a folder; "" if it has none."""
    mark = folder / HAND_IN
    return mark.read_text(encoding="utf-8") if mark.is_file() else ""
