"""Downloads of a learning platform, put into submitted/<student>/<day>/<day>.ipynb, with the known submission times.

collected.json, beside the folder of submissions, records for each file its checksum, the time at which the collector first
saw it, and the information in the platform's file name. Replaced files move to collected_earlier/.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ...base.errors import CourseError, typed_line
from ...base.files import write_whole
from ...grading.tasks import find_tasks, id_key, is_student_id, student_folders
from ...lessons import Day, syllabus
from ...sandbox.protocol.text import encodable
from ...sandbox.submitted_file import file_sha256
from ..policy.roster import Roster
from ..policy.timestamps import submitted_at
from . import naming
from .archives import Member, Refused, members, printable

NOTES = "collected.json"
EARLIER = "collected_earlier"
FORMAT = 1


@dataclass
class Entry:
    """The known facts about a submission.

    seen: the collector's clock, ISO 8601 with zone; with at_given, the time that a person gave (`--at`).
    handed_in: the time in nbgrader's timestamp.txt, "" if there was none. All other facts come from the platform.
    """

    sha256: str
    seen: str
    source: str
    archive: str = ""
    member: str = ""
    lms_id: str = ""
    lms_name: str = ""
    lms_late: bool | None = None
    member_time: str = ""
    """The file's time in the archive: information only, because a student's clock may have set it."""
    order: list[int] = field(default_factory=list)
    earlier: list[dict[str, str]] = field(default_factory=list)
    at_given: bool = False
    handed_in: str = ""

    @property
    def seen_at(self) -> datetime.datetime:
        return datetime.datetime.fromisoformat(self.seen)


@dataclass(frozen=True)
class Outcome:
    """The outcome for one file. kind: new, newer, older, same, refused."""

    kind: str
    line: str


@dataclass(frozen=True)
class Found:
    """A file that can be collected."""

    claim: naming.Claim
    day: Day
    member: Member

    @property
    def rank(self) -> tuple[Any, ...]:
        """Return a sort key: greater is newer, and a file named for the day counts as newer than others of the same submission."""
        return self.claim.order, self.day.slug in self.claim.filename, self.member.modified or datetime.datetime.min, self.member.name


class Notes:
    """The table in collected.json."""

    def __init__(self, root: Path) -> None:
        self.path = root / NOTES
        self.entries: dict[tuple[str, str], Entry] = {}
        if not self.path.exists():
            return
        try:
            table = json.loads(self.path.read_text(encoding="utf-8"))
            if table["format"] != FORMAT:
                raise ValueError
            for key, entry in table["submissions"].items():
                student, _, slug = key.partition("/")
                self.entries[student, slug] = Entry(**entry)
                for when in (self.entries[student, slug].seen, self.entries[student, slug].handed_in):
                    if when:
                        datetime.datetime.fromisoformat(when)  # a time that is none is found here, and not in a report
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OSError):
            raise CourseError(f"{self.path} is damaged: move it away and collect again; earlier times of collection are lost") from None

    def save(self) -> None:
        table = {f"{student}/{slug}": asdict(entry) for (student, slug), entry in sorted(self.entries.items())}
        write_whole(self.path, json.dumps({"format": FORMAT, "submissions": table}, indent=1, ensure_ascii=False).encode())


class Collector:
    """A collector of files into a class's folder of submissions. now: the time to record; at_given: whether a person gave this time."""

    def __init__(self, submitted: Path, now: datetime.datetime, roster: Roster | None = None, *, at_given: bool = False) -> None:
        self.submitted = submitted.absolute()
        self.root = self.submitted.parent
        self.now = now.isoformat(timespec="seconds")
        self.at_given = at_given
        self.roster = roster
        self.notes = Notes(self.root)
        there = student_folders(self.submitted) if self.submitted.is_dir() else []
        self.ids = {id_key(folder.name): folder.name for folder in there}

    def collect(self, source: Path, form: str, day: Day | None = None) -> list[Outcome]:
        """Collect all files of a zip or a folder, with one line for each bad file. Raises CourseError."""
        if source.is_dir() and (source.resolve() == self.submitted.resolve() or self.submitted.resolve().is_relative_to(source.resolve())):
            raise CourseError(f"{source} is the folder of collected submissions: give the download")
        outcomes: list[Outcome] = []
        candidates: dict[tuple[str, str], list[Found]] = {}
        for member in members(source):
            if isinstance(member, Refused):
                outcomes.append(Outcome("refused", str(member)))
                continue
            try:
                found = self.look_at(member, form, day)
            except Refused as refused:
                outcomes.append(Outcome("refused", str(refused)))
            except Exception as error:  # of one file
                outcomes.append(unforeseen(member.name, error))
            else:
                candidates.setdefault((found.claim.student, found.day.slug), []).append(found)
        try:
            for several in candidates.values():
                # Oldest first: each is stored when the next one replaces it.
                for found in sorted(several, key=lambda f: f.rank):
                    outcomes.append(self.put_safely(found, source.name, form))
        finally:
            self.notes.save()  # each stored file has its time, even if others failed
        return outcomes

    def put_safely(self, found: Found, archive: str, form: str) -> Outcome:
        """Call `put`, but return one line for a file that cannot be read or written."""
        try:
            return self.put(found, archive, form)
        except Refused as refused:
            return Outcome("refused", str(refused))
        except OSError as error:
            return Outcome("refused", f"{printable(found.member.name)}: cannot be stored ({error.strerror}): fix that and collect again")
        except Exception as error:  # of one file
            return unforeseen(found.member.name, error)

    def look_at(self, member: Member, form: str, day: Day | None) -> Found:
        """Return a file with its student and its day. Raises Refused."""
        claim = naming.FORMS[form](member.name)
        if claim is None:
            raise Refused(member.name, f"cannot tell which student it belongs to; expected {naming.EXPECTED[form]}")
        claim = self.enrolled(claim, member.name)
        known = self.ids.setdefault(id_key(claim.student), claim.student)
        if known != claim.student:
            raise Refused(member.name, f"some disks treat the ids {claim.student} and {known} as the same: give one student another id")
        content = member.read()  # and again when it is put: an archive need not fit into memory
        which = day or naming.day_of(claim.filename, content)
        if which is None:
            raise Refused(member.name, "cannot tell which day it belongs to: name the day with --day")
        return Found(claim, which, member)

    def enrolled(self, claim: naming.Claim, name: str) -> naming.Claim:
        """Return the claim with the student's id, taken from the roster if there is one. Raises Refused."""
        if self.roster is None:
            if not is_student_id(claim.student):
                raise Refused(name, f"{printable(claim.student)!r} cannot be a student's id")
            return claim
        person = self.roster.by_lms_id.get(claim.lms_id) or self.roster.by_id.get(claim.student)
        if person is None:
            who = f"LMS id {claim.lms_id}" if claim.lms_id else f"id {claim.student}"
            raise Refused(name, f"nobody in the roster has {who}: add a line and collect again")
        return naming.Claim(person.id, claim.filename, claim.lms_id, claim.name, claim.late, claim.order)

    def put(self, found: Found, archive: str, form: str) -> Outcome:
        claim, slug, content = found.claim, found.day.slug, found.member.read()
        target = self.submitted / claim.student / slug / f"{slug}.ipynb"
        who = f"{claim.student}, {slug}"
        if any(path.is_symlink() for path in (target, target.parent, target.parents[1])):
            return Outcome("refused", f"{who}: {target} leads through a link: remove the link")
        new = Entry(
            hashlib.sha256(content).hexdigest(), self.now, form, encodable(archive), found.member.name,
            claim.lms_id, claim.name, claim.late,
            found.member.modified.isoformat(timespec="seconds") if found.member.modified else "", list(claim.order),
            at_given=self.at_given,
        )  # fmt: skip
        old = self.notes.entries.get((claim.student, slug))
        there = target.read_bytes() if target.is_file() else None
        if there == content:
            if old is not None and old.sha256 == new.sha256:
                new = self.seen_again(old)
            self.note(target, claim.student, slug, new)
            return Outcome("same", f"{who}: unchanged")
        if there is None:
            write_whole(target, content)
            new.earlier = old.earlier if old else []
            self.note(target, claim.student, slug, new)
            return Outcome("new", f"{who}: collected")
        if old is not None and old.source == form and tuple(claim.order) < tuple(old.order):
            copy = self.keep(claim.student, slug, content, new.member_time)
            if copy.exists() and all(e["sha256"] != new.sha256 for e in old.earlier):
                old.earlier.append({"sha256": new.sha256, "seen": new.seen, "kept": copy.relative_to(self.root).as_posix()})
            return Outcome("older", f"{who}: older than the current file, stored as {copy.relative_to(self.root)}")
        copy = self.keep(claim.student, slug, there, old.seen if old else "")
        was = {"sha256": hashlib.sha256(there).hexdigest(), "seen": old.seen if old else "", "kept": copy.relative_to(self.root).as_posix()}
        new.earlier = [*(old.earlier if old else []), was]
        write_whole(target, content)
        self.note(target, claim.student, slug, new)
        return Outcome("newer", f"{who}: newer; the previous file is stored as {copy.relative_to(self.root)}")

    def seen_again(self, old: Entry) -> Entry:
        """Return the known facts about an unchanged file, with the time that a person gave for this collection, if any."""
        return replace(old, seen=self.now, at_given=True) if self.at_given else old

    def keep(self, student: str, slug: str, content: bytes, when: str) -> Path:
        """Copy an earlier version of a submission to the folder of earlier files, which is never cleared."""
        digest = hashlib.sha256(content).hexdigest()[:12]
        day = when[:10] or "before"
        path = self.root / EARLIER / student / slug / f"{day}_{digest}.ipynb"
        if not path.exists():
            write_whole(path, content)
        return path

    def note(self, target: Path, student: str, slug: str, entry: Entry) -> None:
        self.notes.entries[student, slug] = entry
        write_timestamp(target.parent, entry)

    def note_in_place(self, days: Iterable[Day] | None = None) -> list[Outcome]:
        """Record when submissions that another program collected, such as nbgrader, were first seen."""
        outcomes = []
        for task in find_tasks(self.submitted, days or syllabus()):
            who = f"{task.student}, {task.day.slug}"
            if task.path.is_symlink() or not task.path.is_file():
                outcomes.append(Outcome("refused", f"{who}: {task.path.name} is missing, or not a plain file"))
                continue
            digest = file_sha256(task.path)
            old = self.notes.entries.get((task.student, task.day.slug))
            if old is not None and old.sha256 == digest:
                self.note(task.path, task.student, task.day.slug, self.seen_again(old))
                outcomes.append(Outcome("same", f"{who}: unchanged"))
                continue
            entry = Entry(digest, self.now, "nbgrader", earlier=old.earlier if old else [], at_given=self.at_given)
            if (when := submitted_at(task.path.parent)) is not None:
                entry.handed_in = when.replace(tzinfo=datetime.UTC).isoformat()
            if old is not None:
                entry.earlier = [*old.earlier, {"sha256": old.sha256, "seen": old.seen, "kept": ""}]
            self.note(task.path, task.student, task.day.slug, entry)
            outcomes.append(Outcome("newer" if old else "new", f"{who}: noted"))
        self.notes.save()
        return outcomes


def unforeseen(name: str, error: Exception) -> Outcome:
    """Return the outcome for a file that cannot be collected for a reason nobody thought of."""
    return Outcome("refused", f"{printable(name)}: cannot be collected ({printable(typed_line(error))}): look at the file")


def write_timestamp(folder: Path, entry: Entry) -> None:
    """Write nbgrader's timestamp.txt, from which nbgrader computes lateness. Without a time of submission, only remove an old file.

    The time of submission is the time that a person gave, the time that nbgrader's exchange wrote, or the time of the download if the
    platform calls the file late.
    """
    path = folder / "timestamp.txt"
    if path.is_symlink() or path.exists():
        path.unlink()
    if entry.lms_late or (entry.at_given and entry.lms_late is None):
        when = entry.seen_at
    elif entry.handed_in:
        when = datetime.datetime.fromisoformat(entry.handed_in)
    else:
        return
    write_whole(path, when.astimezone(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC").encode())
