"""The specimen files: versions of an exercise, one after another in `<topic>/<exercise>.py`, or one in a file of its own.

A collected file is Python that is read in parts. Each version has a head, which editors show as the start of a cell:

    # %% right_top_p_mask
    # RIGHT: the mask is kept in a name
    def top_p_probs(logits, p): ...

    # %% wrong_top_p_before_or_equal, of right_top_p_mask
    # WRONG: mass before a token <= p: keeps one more when the mass is exactly p
    # -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
    # +     keep = sorted_probs.cumsum(dim=-1) - sorted_probs <= p

The second version is an edit of the first, a complete and correct one: the lines after `# -`, whole and with their indentation, are
replaced by those after `# +`. Lines after `#` and three spaces are unchanged context. `# ...` separates two places. The replaced lines must
occur exactly once in the version that is edited.

A file of its own is named for its version, `right_*.py` or `wrong_*.py`, and begins with `# exercise: top_p_probs`. Messages name every
version as if it had such a file, and its text is the text that such a file would have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from course.kit.paths import ROOT

from .errors import CourseError

SPECIMENS = ROOT / "specimens"
KINDS = ("right", "wrong")
MARK = "# %%"
HEAD = re.compile(r"# %% ((?:right|wrong)_\w+)(?:, of (\w+))?")
COMMENT = re.compile(r"#\s*(RIGHT|WRONG|SAYS):")
BETWEEN_PLACES = "# ..."
SECTION = re.compile(r"^# === (\w+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Listed:
    """A version of an exercise as found in a file. The form of its text is not checked yet."""

    topic: str
    file: str
    """The name by which tables and messages know it, `wrong_top_p_percent.py`, also for a version without a file of its own."""
    path: Path
    line: int
    """The line of its head, from 1."""
    text: str
    fault: str = ""
    """The reason if the text is missing."""

    @property
    def right(self) -> bool:
        return self.file.startswith("right_")

    @property
    def name(self) -> str:
        return self.file.removesuffix(".py")

    @property
    def place(self) -> str:
        """Return the location of the version for a message: its topic and file, or the path, line and name."""
        if self.path.name == self.file:
            return f"{self.topic}/{self.file}"
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{self.line}: {self.name}"


@dataclass(frozen=True)
class Part:
    """One version in a collected file: the lines between two heads."""

    name: str
    base: str | None
    """The version that it is an edit of."""
    line: int
    comments: list[str]
    """The lines `# WRONG: ...` and, if there is one, `# SAYS: ...`."""
    body: list[str]


def find_specimens(folder: Path, topics: Iterable[str]) -> Iterator[Listed]:
    """Yield all versions of these topics. Within a topic the correct versions come first, sorted by name."""
    for topic in topics:
        found = [each for path in sorted((folder / topic).glob("*.py")) for each in listed(path, topic)]
        count = Counter(each.file for each in found)
        for each in sorted(found, key=lambda each: (not each.right, each.file)):
            twice = "this name occurs twice in its topic" if count[each.file] > 1 else ""
            yield replace(each, fault=each.fault or twice)


def sections(path: Path) -> dict[str, str]:
    """Return {name: text} of a file's sections. A section begins with a line `# === name`. Raises CourseError for a duplicate name."""
    head, *found = SECTION.split(path.read_text(encoding="utf-8"))
    names, texts = found[::2], found[1::2]
    if head.strip() or len(set(names)) < len(names):
        raise CourseError(f"{path}: each section needs a head `# === name`, and each name may occur only once")
    return {name: text.rstrip() + "\n" for name, text in zip(names, texts, strict=True)}


def listed(path: Path, topic: str) -> list[Listed]:
    """Return the versions in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return [Listed(topic, path.name, path, 1, "", f"cannot be read ({error})")]
    if path.name.startswith(KINDS):
        return [Listed(topic, path.name, path, 1, text)]
    try:
        found = parts(text)
    except CourseError as error:
        return [Listed(topic, path.name, path, 1, "", str(error))]
    return [whole(part, found, path, topic) for part in found]


def parts(text: str) -> list[Part]:
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines) if line.startswith(MARK)]
    before = lines[: heads[0]] if heads else lines
    if not heads or any(line and not line.startswith("#") for line in before):
        raise CourseError(f"a file of versions begins with comments, then has a head `{MARK} right_NAME` before each version")
    found = []
    for start, end in pairwise([*heads, len(lines)]):
        head = HEAD.fullmatch(lines[start])
        name, base = head.groups() if head else (lines[start].removeprefix(MARK).strip(), None)
        part = "\n".join(lines[start + 1 : end]).rstrip("\n").split("\n")
        first = next((number for number, line in enumerate(part) if not COMMENT.match(line)), len(part))
        found.append(Part(name, base, start + 1, part[:first], part[first:]))
    return found


def whole(part: Part, found: list[Part], path: Path, topic: str) -> Listed:
    """Return a part as a version, with the text that it would have in a separate file."""

    def made(body: list[str], fault: str = "") -> Listed:
        text = "\n".join([f"# exercise: {path.stem}", *part.comments, *body]) + "\n"
        return Listed(topic, f"{part.name}.py", path, part.line, text, fault)

    if not part.name.startswith(tuple(f"{kind}_" for kind in KINDS)) or not part.name.isidentifier():
        return made([], f"a head is `{MARK} right_NAME` or `{MARK} wrong_NAME`; for an edit, `{MARK} wrong_NAME, of right_NAME`")
    if part.base is None:
        return made(part.body)
    base = next((other for other in found if other.name == part.base), None)
    if base is None or base.base is not None or not base.name.startswith("right_"):
        return made([], f"{part.base} is not a correct version given in full in this file")
    try:
        return made(edited(base.body, part.body))
    except CourseError as error:
        return made([], f"as an edit of {part.base}: {error}")


def edited(base: list[str], edit: list[str]) -> list[str]:
    """Return the lines of a version with the edit applied. Raises CourseError if the replaced lines do not occur exactly once."""
    exchanged = []
    for place in places(edit):
        old = [line for sign, line in place if sign != "+"]
        starts = [start for start in range(len(base)) if base[start : start + len(old)] == old]
        if not old:
            raise CourseError(f"`{place[0][1].strip()}` is added, but no unchanged line says where: add the line before or after it")
        if len(starts) != 1:
            raise CourseError(f"`{old[0].strip()}` and the lines below must occur once in that version, not {len(starts)} times")
        exchanged.append((starts[0], starts[0] + len(old), [line for sign, line in place if sign != "-"]))
    lines, done = [], 0
    for start, end, new in sorted(exchanged):
        if start < done:
            raise CourseError(f"`{base[start].strip()}` is replaced in two places")
        lines += [*base[done:start], *new]
        done = end
    return lines + base[done:]


def places(edit: list[str]) -> list[list[tuple[str, str]]]:
    """Return the lines of each place of an edit, as a list of (`-`, `+` or space, line)."""
    found: list[list[tuple[str, str]]] = [[]]
    for line in edit:
        if line == BETWEEN_PLACES:
            found.append([])
        elif line[:2] in ("#", "# ") and line[2:3] in ("", "-", "+", " ") and line[3:4] in ("", " "):
            found[-1].append((line[2:3] or " ", line[4:]))
        else:
            raise CourseError(f"`{line}` begins with none of `# - `, `# + ` and `#   `")
    if not all(found):
        raise CourseError(f"an edit has a place without lines: remove one `{BETWEEN_PLACES}`")
    return found
