"""Who is in the class: a CSV with the columns id, lms_id, name, email, and for Canvas sis_id, login, section."""

from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass
from pathlib import Path

from ..errors import CourseError
from ..grading.tasks import check_student_id, id_key

NAME = "roster.csv"


@dataclass(frozen=True)
class Person:
    """One row. id: the student's folder; lms_id: the number in the platform's file names."""

    id: str
    lms_id: str = ""
    name: str = ""
    email: str = ""
    sis_id: str = ""
    login: str = ""
    section: str = ""

    @property
    def first_and_last(self) -> tuple[str, str]:
        """The name, cut at its comma ("Lovelace, Ada"), or else before its last word ("Ada Lovelace")."""
        last, comma, first = self.name.partition(",")
        if not comma:
            first, _, last = self.name.rpartition(" ")
        return first.strip(), last.strip()


class Roster:
    """The class, by student id and by the platform's id."""

    def __init__(self, people: list[Person]) -> None:
        self.by_id = {person.id: person for person in people}
        self.by_lms_id = {person.lms_id: person for person in people if person.lms_id}

    def person(self, student: str) -> Person:
        return self.by_id.get(student, Person(student))


def find_roster(root: Path, given: Path | None = None) -> Roster | None:
    """The roster named, else the class's own roster.csv; None where there is none, or nobody in it. Raises CourseError."""
    path = given or root / NAME
    if given is None and not path.exists():
        return None
    roster = read_roster(path)
    return roster if roster.by_id else None


def require_known(student: str, root: Path) -> None:
    """Raise CourseError if the class has a roster and this student is not on it. A class without a roster knows nobody by name."""
    roster = find_roster(root)
    if roster is None or student in roster.by_id:
        return
    near = difflib.get_close_matches(student, roster.by_id, n=1)
    raise CourseError(f"{student} is not in {NAME}" + (f"; did you mean {near[0]}?" if near else ": add a line for them first"))


def read_roster(path: Path) -> Roster:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read as a roster ({type(error).__name__}): save it as a CSV in UTF-8") from None
    lines = csv.DictReader(text.splitlines(), dialect=_dialect(text))
    try:
        rows = list(lines)
    except csv.Error as error:
        raise CourseError(f"{path} cannot be read as a roster ({error}): save it as a CSV in UTF-8") from None
    if "id" not in (lines.fieldnames or []):
        raise CourseError(f"{path}: the first line must name the columns: id, lms_id, name, email")
    people: list[Person] = []
    taken: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(rows, start=2):
        values = {key: (row.get(key) or "").strip() for key in Person.__dataclass_fields__}
        if not any(values.values()):
            continue
        try:
            check_student_id(values["id"])
        except CourseError as error:
            raise CourseError(f"{path}, line {number}: {error}") from None
        for kind, same in (("id", id_key), ("lms_id", str)):
            key = f"{kind} {same(values[kind])}"
            if values[kind] and key in taken:
                but_for = "" if values[kind] == getattr(people[taken[key][1]], kind) else ", but for upper and lower case"
                raise CourseError(f"{path}, line {number}: the {kind} {values[kind]} stands in line {taken[key][0]} already{but_for}")
            taken[key] = number, len(people)
        people.append(Person(**values))
    return Roster(people)


def _dialect(text: str) -> type[csv.Dialect]:
    """Comma or semicolon: spreadsheets of some countries write the latter."""
    head = text.split("\n", 1)[0]

    class Dialect(csv.excel):
        delimiter = ";" if head.count(";") > head.count(",") else ","

    return Dialect
