"""The owners of submitted files, found from file names in Canvas, in Moodle and in plain folders."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

from ...grading.tasks import MAX_ID_BYTES, is_student_id
from ...lessons import Day, syllabus

CANVAS = re.compile(r"(?P<name>[^_/]*)_(?:(?P<late>LATE)_)?(?P<user>\d{1,20})_(?P<submission>\d{1,20})_(?P<file>.+)")
MOODLE = re.compile(r"(?:^|/)(?P<name>[^/]+?)_(?P<user>\d{1,20})_assignsubmission_(?P<kind>file|onlinetext)_?/?(?P<file>.*)$")
ATTEMPT = re.compile(r"(?P<stem>.+?)-(?P<attempt>\d{1,4})")
COPY = re.compile(r"(?: ?\(\d+\)|[-_ ]\d+)$")
MAX_ID = 100


@dataclass(frozen=True)
class Claim:
    """The information in a file's name. student: an id made from the name; order: greater for a later submission of the same student."""

    student: str
    filename: str
    lms_id: str = ""
    name: str = ""
    late: bool | None = None
    """The platform's own flag; None if it gives none."""
    order: tuple[int, ...] = ()


def canvas(path: str) -> Claim | None:
    """Parse `lovelaceada_LATE_4711_90210_day05_samplers-1.ipynb`: the second attempt, submitted late."""
    match = CANVAS.fullmatch(PurePosixPath(path).name)
    if match is None:
        return None
    file = PurePosixPath(match["file"])
    again = ATTEMPT.fullmatch(file.stem)
    attempt = int(again["attempt"]) if again else 0
    student = student_id(match["name"], match["user"])
    order = (attempt, int(match["submission"]))
    return Claim(student, file.name, match["user"], match["name"], match["late"] is not None, order)


def moodle(path: str) -> Claim | None:
    """Parse `Ada Lovelace_77_assignsubmission_file_/day05.ipynb`, or without the folder; the number is the participant's."""
    match = MOODLE.search(path)
    if match is None or match["kind"] != "file" or not match["file"]:
        return None
    return Claim(student_id(match["name"], match["user"]), PurePosixPath(match["file"]).name, match["user"], match["name"])


def folder(path: str) -> Claim | None:
    """Parse `ada/day05_samplers/day05_samplers.ipynb`, `ada/anything.ipynb`, `ada_day05_samplers.ipynb` or `ada.ipynb`."""
    parts = PurePosixPath(path).parts
    if len(parts) > 1:
        student = parts[0]
    else:
        stem = PurePosixPath(path).stem
        found = next((day.slug for day in syllabus() if day.slug in stem), None)
        student = stem.replace(found, "").strip("_- ") if found else stem
    return Claim(student, parts[-1]) if is_student_id(student) else None


FORMS = {"canvas": canvas, "moodle": moodle, "folder": folder}
EXPECTED = {
    "canvas": "lastnamefirstname_[LATE_]user_submission_file.ipynb, as Canvas names its downloads",
    "moodle": "Full Name_number_assignsubmission_file_/file.ipynb, as Moodle names its downloads",
    "folder": "student/file.ipynb or student_day.ipynb, with letters, digits and . _ @ + - in the student's id",
}


def student_id(name: str, number: str) -> str:
    """Return an id from a name and the platform's number: `adalovelace_77`. The number distinguishes students of the same name."""
    letters = "".join(c for c in unicodedata.normalize("NFC", name).lower() if c.isalnum() or c in ".-")
    room = MAX_ID - len(number) - 1
    short = letters.strip(".-")[:room].encode()[: MAX_ID_BYTES - len(number) - 1].decode(errors="ignore")
    return f"{short or 'student'}_{number}"


def day_of(filename: str, content: bytes) -> Day | None:
    """Return the day in a file's name, else the day in the notebook's metadata, else None."""
    stem = COPY.sub("", PurePosixPath(filename).stem).strip().lower()
    days = syllabus()
    named = [day for day in days if day.slug in stem]
    if len(named) == 1:
        return named[0]
    try:
        notebook = json.loads(content.decode("utf-8-sig"))
        slug = notebook["metadata"]["course"]["slug"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return next((day for day in days if day.slug == slug), None)
