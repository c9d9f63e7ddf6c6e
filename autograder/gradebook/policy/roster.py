"""The class roster: a CSV with the columns id, lms_id, name, email, and for Canvas sis_id, login, section."""

from __future__ import annotations

import csv
import difflib
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...base.errors import CourseError
from ...base.files import write_whole
from ...grading.tasks import check_student_id, id_key, is_student_id
from ..lms.naming import student_id

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
        """Return the first and the last name: cut at the comma ("Lovelace, Ada"), or else before the last word ("Ada Lovelace")."""
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
    """Return the given roster, else the class's own roster.csv; None if there is no roster, or if it is empty. Raises CourseError."""
    path = given or root / NAME
    if given is None and not path.exists():
        return None
    roster = read_roster(path)
    return roster if roster.by_id else None


def require_known(student: str, root: Path) -> None:
    """Raise CourseError if the class has a roster and this student is not on it. Without a roster every id is accepted."""
    roster = find_roster(root)
    if roster is None or student in roster.by_id:
        return
    near = difflib.get_close_matches(student, roster.by_id, n=1)
    raise CourseError(f"{student} is not in {NAME}" + (f"; did you mean {near[0]}?" if near else ": add a line for them first"))


def read_roster(path: Path) -> Roster:
    columns, rows = _table(path)
    if "id" not in columns:
        raise CourseError(f"{path}: the first line must name the columns: id, lms_id, name, email")
    people: list[Person] = []
    taken: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(rows, start=2):
        if None in row:
            raise CourseError(f"{path}, line {number}: more fields than columns in the first line; put a name with a comma in quotes")
        values = {key: (row.get(key) or "").strip() for key in Person.__dataclass_fields__}
        if not any(values.values()):
            continue
        try:
            check_student_id(values["id"])
        except CourseError as error:
            raise CourseError(f"{path}, line {number}: {error}") from None
        for kind, same in (("id", id_key), ("lms_id", str), ("email", str.lower)):
            key = f"{kind} {same(values[kind])}"
            if values[kind] and key in taken:
                but_for = "" if values[kind] == getattr(people[taken[key][1]], kind) else ", apart from upper and lower case"
                raise CourseError(f"{path}, line {number}: the {kind} {values[kind]} is already in line {taken[key][0]}{but_for}")
            taken[key] = number, len(people)
        people.append(Person(**values))
    return Roster(people)


PLATFORMS = {
    "Canvas": ({"Student", "ID"}, "the gradebook's export"),
    "Moodle, grading worksheet": ({"Identifier", "Full name"}, "the assignment's offline grading worksheet"),
    "Moodle, participants": ({"First name", "Last name", "Email address"}, "the course's list of participants"),
}
"""{a platform's list: (columns by which it is recognised, its description)}."""
NOBODY = ("points possible", "test student", "student, test")


def people_of_platform(path: Path, root: Path) -> list[Person]:
    """Return the people in a platform's own list. A person's id is the name of the submission folder, or without one the login.

    Raises CourseError for a file in none of the formats of PLATFORMS.
    """
    columns, rows = _table(path)
    platform = next((name for name, (needs, _) in PLATFORMS.items() if needs <= set(columns)), None)
    if platform is None:
        known = "; ".join(f"{name}: {what}, with {', '.join(sorted(needs))}" for name, (needs, what) in PLATFORMS.items())
        raise CourseError(f"{path} is not a list of a supported platform. {known}")
    found = []
    for row in rows:
        of = {key: value.strip() for key, value in row.items() if isinstance(value, str)}
        if platform == "Canvas":
            sis_id, login, section = (of.get(name, "") for name in ("SIS User ID", "SIS Login ID", "Section"))
            person = Person("", of["ID"], of["Student"], "", sis_id, login, section)
        elif platform == "Moodle, participants":
            name = f"{of['Last name']}, {of['First name']}"
            person = Person("", "", name, of["Email address"], of.get("ID number", ""), of.get("Username", ""))
        else:
            number = of["Identifier"].rpartition(" ")[2]
            person = Person("", number if number.isdigit() else "", of["Full name"], of.get("Email address", ""))
        if person.name and not person.name.lower().startswith(NOBODY):
            found.append(replace(person, id=_id(person, root)))
    return found


def _id(person: Person, root: Path) -> str:
    by_name = student_id(person.name, person.lms_id) if person.lms_id else ""
    if by_name and (root / "submitted" / by_name).is_dir():
        return by_name
    login = person.login.partition("@")[0] or person.email.partition("@")[0]
    return login if is_student_id(login) else by_name or student_id(person.name, "0")


def added(roster: list[Person], people: list[Person]) -> tuple[list[Person], int]:
    """Return the roster with these people, and how many of them are new.

    People with a known platform number, e-mail or id keep their line, and its empty fields are filled in. Raises CourseError if two people
    would have one id.
    """
    made, new = list(roster), 0
    for person in people:
        place = next((i for i, other in enumerate(made) if _same(person, other)), None)
        if place is not None:
            filled = {name: getattr(person, name) for name in Person.__dataclass_fields__ if not getattr(made[place], name)}
            made[place] = replace(made[place], **filled)
            continue
        if any(id_key(person.id) == id_key(other.id) for other in made):
            raise CourseError(
                f"{person.name} and somebody else would both get the id {person.id}: add one of them to {NAME} by hand, with another id"
            )
        made.append(person)
        new += 1
    return made, new


def _same(one: Person, other: Person) -> bool:
    if one.lms_id and other.lms_id:
        return one.lms_id == other.lms_id
    if one.email and other.email:
        return one.email.lower() == other.email.lower()
    return one.id == other.id and (not one.name or not other.name or one.name == other.name)


def write_roster(path: Path, people: list[Person]) -> None:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(Person.__dataclass_fields__)
    writer.writerows([getattr(person, name) for name in Person.__dataclass_fields__] for person in people)
    write_whole(path, table.getvalue().encode())


def _table(path: Path) -> tuple[list[str], list[dict[Any, Any]]]:
    """Return the columns of a list, named without surrounding blanks, and its rows. Raises CourseError for a damaged file."""
    text = _text(path)
    lines = csv.DictReader(text.splitlines(), dialect=_dialect(text))
    try:
        lines.fieldnames = [name.strip() for name in lines.fieldnames or []]
        return list(lines.fieldnames), list(lines)
    except csv.Error as error:
        raise CourseError(f"{path} cannot be read as a roster ({error}): save it as a CSV in UTF-8") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise CourseError(f"there is no file {path}: give the path of a roster") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read as a roster ({type(error).__name__}): save it as a CSV in UTF-8") from None


def _dialect(text: str) -> type[csv.Dialect]:
    """Return a CSV dialect with comma or semicolon, because spreadsheets of some countries write semicolons."""
    head = text.split("\n", 1)[0]

    class Dialect(csv.excel):
        delimiter = ";" if head.count(";") > head.count(",") else ","

    return Dialect
