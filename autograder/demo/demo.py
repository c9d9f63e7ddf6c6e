"""A class of sample submissions, made from the release notebooks and graded end to end; each states the score it should get.

Correct and incorrect answers come from the specimens; the others are typical submissions of a class: files cut off, cells deleted, copied
or tampered with, code that does not end or ends its own process, attacks on the grader.
"""

from __future__ import annotations

import copy
import dis
import inspect
import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import CourseError
from ..base.specimen_files import SPECIMENS, find_specimens
from ..certification.certify import Specimen, read_specimen
from ..checking.runner import load_checks
from ..grading.grade import Options
from ..grading.records import ExerciseScore, Record
from ..grading.run import Bar, grade_all, no_bar
from ..grading.tasks import find_tasks
from ..lessons import Day, lesson, release_notebook_path, solved_notebook, syllabus
from ..lessons.marks import free_names
from ..notebook.render import points_text
from .demo_attacks import ATTACKS

LOOKS_UP = ("LOAD_ATTR", "LOAD_METHOD")
THE_STUDENTS = ("student", "s")
"""The names by which checks call the student's functions."""
MARK = "made_by_autograder_demo.txt"
Notebook = dict[str, Any]


@dataclass(frozen=True)
class ExpectedScore:
    """The expected score of a sample: no points for the exercises in `zero`, less than all for `less`, all for the others."""

    zero: frozenset[str] = frozenset()
    less: str | None = None

    def text(self, day: Day) -> str:
        total = points_text(sum(e.points for e in lesson(day).exercises if e.name not in self.zero))
        return f"below {total}" if self.less else total

    def met_by(self, record: Record) -> bool:
        return all(self._met(score) for score in record.scores)

    def _met(self, score: ExerciseScore) -> bool:
        if score.exercise == self.less:
            return score.points < score.max_points
        return score.points == (0 if score.exercise in self.zero else score.max_points)


FULL = ExpectedScore()


@dataclass(frozen=True)
class Sample:
    """The submission of one student. content: the file's text."""

    student: str
    description: str
    content: str
    expected: ExpectedScore


@dataclass(frozen=True)
class Outcome:
    sample: Sample
    record: Record
    booked: float | None
    """The score in the gradebook."""
    trouble: str = ""
    """The reason why the record is not in the gradebook, if it is not."""

    @property
    def as_expected(self) -> bool:
        same = self.booked is not None and abs(self.booked - self.record.points) < 1e-6
        return same and self.sample.expected.met_by(self.record)


def samples(day: Day) -> list[Sample]:
    """Return the samples of one day."""
    made = Maker(day)
    lost = made.zero(made.victim)
    forgery = f"points and outputs forged; only {made.first} is solved"
    return [
        made.sample("ada", "right: the reference", FULL, made.solved()),
        made.sample("bela", "right, written differently", FULL, made.written_differently()),
        *map(made.wrong, ("chidi", "dara", "emeka"), made.mistakes()),
        made.sample("fatima", "untouched", made.zero(*made.exercises), made.release()),
        made.sample("goran", f"a syntax error in {made.victim}", lost, made.broken("return (")),
        made.sample("hana", f"an endless loop in {made.victim}", lost, made.broken("while True: pass")),
        made.sample("ivan", f"os._exit in {made.victim}", lost, made.broken("import os; os._exit(0)")),
        made.sample("jun", forgery, made.zero(*(set(made.exercises) - {made.first})), made.forged()),
        made.sample("kofi", "right; all grade cells deleted", FULL, made.without_checks()),
        made.sample("lena", "right; a solution cell copied", FULL, made.with_copy()),
        made.sample("mateo", "the file is cut off", made.zero(*made.exercises), made.cut_off()),
        made.sample("nadia", f"right; {made.first} uses a helper cell of her own", FULL, made.with_helper()),
        *made.attackers(),
    ]  # fmt: skip


class Maker:
    """A maker of notebooks of one day, from its release."""

    def __init__(self, day: Day) -> None:
        self.day = day
        self.exercises = [e.name for e in lesson(day).exercises]
        self.answers = {
            cell.metadata.course.exercise: cell.source for cell in solved_notebook(day).cells if cell.metadata.course.role == "exercise"
        }
        uses = {name: free_names(source) & set(self.exercises) for name, source in self.answers.items()}
        used = set().union(*uses.values())
        unused = [name for name in self.exercises if name not in used] or self.exercises[-1:]
        # The checks of one exercise may call another one, which must then be complete: those of start_sequence call publish_blocks.
        called = set().union(*(mentioned(c.function, set(self.exercises) - {c.exercise}) for c in load_checks(day.topic)))
        self.unused = [name for name in unused if name not in called] or unused
        self.victim = self.unused[0]
        alone = [name for name in self.exercises if not uses[name]]
        self.first = next((name for name in alone if self.answers[name].startswith("def ")), alone[0])

    @staticmethod
    def zero(*exercises: str) -> ExpectedScore:
        return ExpectedScore(zero=frozenset(exercises))

    def sample(self, student: str, description: str, expected: ExpectedScore, content: str) -> Sample:
        return Sample(student, description, content, expected)

    def release(self) -> str:
        return release_notebook_path(self.day).read_text(encoding="utf-8")

    def solved(self, **answers: str) -> str:
        """Return a notebook with the reference's answers, some of them replaced."""
        return self.changed(lambda notebook: None, {**self.answers, **answers})

    def changed(self, change: Callable[[Notebook], None], answers: dict[str, str] | None = None) -> str:
        notebook = json.loads(self.release())
        for cell in notebook["cells"]:
            name = cell["metadata"]["course"].get("exercise")
            if cell["metadata"]["course"]["role"] == "exercise" and name in (answers or {}):
                cell["source"] = (answers or {})[name]
        change(notebook)
        return json.dumps(notebook, indent=1)

    def specimens(self, *, right: bool) -> Iterable[Specimen]:
        for listed in find_specimens(SPECIMENS, [self.day.topic]):
            if listed.right == right:
                yield read_specimen(listed)

    def written_differently(self) -> str:
        """Return a notebook with other correct answers than the reference's.

        Only exercises that no other exercise uses are replaced, because two correct versions need not fit each other.
        """
        first = {s.exercise: answer(s) for s in reversed(list(self.specimens(right=True))) if s.exercise in self.unused}
        return self.solved(**first)

    def mistakes(self) -> list[Specimen]:
        """Return three incorrect specimens of different kinds.

        No other exercise, and no check of another exercise, uses their exercises.
        """
        by_exercise = [[s for s in self.specimens(right=False) if s.exercise == name] for name in self.unused]
        found = [s for s in by_exercise if s]
        return [found[n % len(found)][n * 7 % len(found[n % len(found)])] for n in range(3 if found else 0)]

    def wrong(self, student: str, specimen: Specimen) -> Sample:
        description = f"{specimen.exercise} is wrong: {specimen.difference}"
        content = self.solved(**{specimen.exercise: answer(specimen)})
        return self.sample(student, description, ExpectedScore(less=specimen.exercise), content)

    def broken(self, body: str) -> str:
        return self.solved(**{self.victim: f"def {self.victim}(*args, **kwargs):\n    {body}\n"})

    def forged(self) -> str:
        def forge(notebook: Notebook) -> None:
            for cell in checks(notebook):
                cell["metadata"]["nbgrader"]["points"] = 1000
                cell["metadata"]["nbgrader"]["locked"] = False
                cell["source"] = "1000.0"
                data = {"text/plain": "1000.0"}
                output = {"output_type": "execute_result", "execution_count": 1, "data": data, "metadata": {}}
                cell["outputs"] = [output]
            first, *_, last = checks(notebook)
            first["metadata"]["nbgrader"]["grade_id"] = "renamed"
            last["cell_type"] = "markdown"
            notebook["cells"].append({**copy.deepcopy(first), "id": "pasted", "metadata": {"nbgrader": {}}})

        return self.changed(forge, {self.first: self.answers[self.first]})

    def without_checks(self) -> str:
        def delete(notebook: Notebook) -> None:
            notebook["cells"] = [cell for cell in notebook["cells"] if cell["metadata"]["course"]["role"] != "check"]

        return self.changed(delete, self.answers)

    def with_copy(self) -> str:
        def duplicate(notebook: Notebook) -> None:
            place = next(i for i, c in enumerate(notebook["cells"]) if c["metadata"]["course"]["role"] == "exercise")
            notebook["cells"].insert(place + 1, {**copy.deepcopy(notebook["cells"][place]), "id": "pasted"})

        return self.changed(duplicate, self.answers)

    def cut_off(self) -> str:
        text = self.solved()
        return text[: len(text) // 2]

    def with_helper(self) -> str:
        helper = f"my_{self.first}"
        answer = self.answers[self.first]
        code = answer.replace(f"def {self.first}(", f"def {helper}(", 1).replace(f"class {self.first}:", f"class {helper}:", 1)
        caller = f"def {self.first}(*args, **kwargs):\n    return {helper}(*args, **kwargs)\n"
        if answer.startswith("class "):
            caller = f"class {self.first}({helper}):\n    pass\n"

        def add(notebook: Notebook) -> None:
            new: Notebook = {"cell_type": "code", "id": "added", "metadata": {}, "outputs": [], "execution_count": None}
            notebook["cells"].insert(2, {**new, "source": code})

        return self.changed(add, {**self.answers, self.first: caller})

    def attackers(self) -> Iterator[Sample]:
        """Yield the attackers. Each has solved only the first exercise, so every further point would be stolen."""
        expected = self.zero(*(set(self.exercises) - {self.first}))
        for student, description, source in ATTACKS:
            code: Notebook = {"cell_type": "code", "id": "added", "metadata": {}, "outputs": [], "execution_count": None}
            cell = {**code, "source": source.replace("TOPIC", self.day.topic)}
            content = self.changed(lambda notebook, cell=cell: notebook["cells"].append(cell), {self.first: self.answers[self.first]})  # type: ignore[misc]
            yield self.sample(student, description, expected, content)


def mentioned(function: Callable[..., Any], names: set[str]) -> set[str]:
    """Return the exercises among these that a check uses, directly or through the course's code."""
    found: set[str] = set()
    todo: list[Any] = [function]
    seen: set[Any] = set()
    while todo:
        each = todo.pop()
        if each in seen:
            continue
        seen.add(each)
        if inspect.isclass(each):
            todo += [method for method in vars(each).values() if inspect.isfunction(method)]
            continue
        codes = [each.__code__]
        while codes:
            code = codes.pop()
            codes += [const for const in code.co_consts if inspect.iscode(const)]
            steps = itertools.pairwise(dis.get_instructions(code))
            found |= names & {step.argval for before, step in steps if step.opname in LOOKS_UP and before.argval in THE_STUDENTS}
            found |= names & {const for const in code.co_consts if isinstance(const, str)}  # names in a batch of calls
            known = [each.__globals__.get(name) for name in code.co_names]
            todo += [k for k in known if (inspect.isfunction(k) or inspect.isclass(k)) and k.__module__.startswith("autograder.")]
    return found


def checks(notebook: Notebook) -> list[Notebook]:
    return [cell for cell in notebook["cells"] if cell["metadata"].get("course", {}).get("role") == "check"]


def answer(specimen: Specimen) -> str:
    """Return a specimen's code, without its two first lines."""
    return specimen.source.split("\n", 2)[2].strip("\n")


def demo_days() -> list[Day]:
    """Return the days that are complete: lesson, release, specimens."""
    return [
        day for day in syllabus()
        if day.ready and release_notebook_path(day).exists() and any(find_specimens(SPECIMENS, [day.topic]))
    ]  # fmt: skip


def run(folder: Path, days: list[Day], jobs: int = 0, bar: Bar = no_bar) -> list[Outcome]:
    """Make the class again, grade it into records and a gradebook, and write the feedback."""
    from ..gradebook.books.bulk import ClassFolder, booked_scores, store, write_feedback

    clear(folder)
    made: dict[tuple[str, str], Sample] = {}
    with bar("days made ready", len(days)) as step:
        for day in days:
            made |= {(sample.student, day.slug): sample for sample in samples(day)}
            step()
    for (student, slug), sample in made.items():
        path = folder / "submitted" / student / slug / f"{slug}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(sample.content, encoding="utf-8")
    place = ClassFolder.of(folder / "submitted")
    tasks = list(find_tasks(place.submitted, days))
    records = grade_all(tasks, Options(jobs=jobs), place.records, bar=bar)
    with bar("gradebook", len(tasks)) as step:
        failures = store(place, tasks, step)
    with bar("feedback", len(tasks)) as step:
        for day in days:
            write_feedback(place, day, step)
    booked = booked_scores(place, days)
    return [Outcome(made[r.student, r.slug], r, booked.get((r.student, r.slug)), failures.get((r.student, r.slug), "")) for r in records]


def clear(folder: Path) -> None:
    """Empty the folder, if it is one that the demo made. Raises CourseError for any other."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise CourseError(f"{folder} contains files that no demo made: name a new folder with --folder")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / MARK).write_text("`autograder demo` replaces everything in this folder.\n", encoding="utf-8")
