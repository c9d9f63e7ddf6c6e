"""`pytest` on a student's notebook: an item for each visible check, judged as `check()` and `autograder check` judge it.

    pytest work/day05_samplers                    a day; its ids are <notebook>::<exercise>::<check>
    pytest work -k top_p --lf -x                  pytest's own ways to choose
    pytest autograder/checking/checks/test_samplers.py
                                                  a file of checks, against the notebook in work/, --notebook PATH or --course

Every pytest run in this environment imports this file. Modules that need torch are therefore imported only with a notebook at hand.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ..base import gc_tuning

if TYPE_CHECKING:
    from ..checking.runner import Check
    from ..lessons import Day
    from .session import Sessions

pytest_plugins = ("autograder.notebook.pytest_fixtures",)

ROOT = Path(__file__).resolve().parents[2]
CHECKING = ROOT / "autograder" / "checking"
NO_WORKSPACE = (ROOT / "course", ROOT / "build")
"""The folders without student notebooks: released and built notebooks are in folders of days, too."""
NOTEBOOKS = tuple(f"{folders}day[0-9][0-9]_*.ipynb" for folders in ("", "day[0-9][0-9]_*/", "*/day[0-9][0-9]_*/"))
ALONE = "speed is measured alone: run without -n"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("from prompt to token")
    group.addoption("--notebook", type=Path, help="the notebook for files of checks and the fixture `student`; default: in work/")
    group.addoption("--course", action="store_true", help="run files of checks on the reference solutions instead of a notebook")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", 'day(name): the day whose functions the fixture `student` provides, as in day("samplers")')


# Collection


def day_of(path: Path) -> Day | None:
    """Return the day whose notebook has this file's name."""
    from ..lessons.syllabus import syllabus

    return next((day for day in syllabus() if day.slug == path.stem and day.ready), None)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> NotebookFile | None:
    """Collect a day's notebook if it is in the folder of its name, or if the command names the file itself."""
    if file_path.suffix != ".ipynb" or day_of(file_path) is None:
        return None
    gc_tuning.relax()
    in_workspace = file_path.stem == file_path.parent.name and not any(file_path.is_relative_to(folder) for folder in NO_WORKSPACE)
    return NotebookFile.from_parent(parent, path=file_path) if in_workspace or parent.session.isinitpath(file_path) else None


class NotebookFile(pytest.File):
    def collect(self) -> Iterable[Exercise]:
        from ..lessons import lesson

        day = day_of(self.path)
        assert day is not None
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        for exercise in lesson(day).exercises:
            definition = re.compile(rf"(def|class) {exercise.name}\b")
            line = next((number for number, text in enumerate(lines) if definition.search(text)), 0)
            yield Exercise.from_parent(self, name=exercise.name, day=day, line=line)


class Exercise(pytest.Class):
    """An exercise, given to pytest as a class because editors show only a file's classes and functions."""

    obj: Any = None

    def __init__(self, *, day: Day, line: int, **more: Any) -> None:
        super().__init__(**more)
        self.day, self.line = day, line

    @classmethod
    def from_parent(cls, parent: Any, **more: Any) -> Exercise:
        return super(pytest.Class, cls).from_parent(parent, **more)

    def collect(self) -> Iterable[CheckItem]:
        from ..checking.runner import select

        for check in select(self.day.topic, exercise=self.name, hidden=False):
            yield CheckItem.from_parent(self, name=short_name(check), day=self.day, check=check, notebook=self.path, line=self.line)


def short_name(check: Check) -> str:
    """Return a check's name without `test_` and the exercise's first words: `by_hand` for `test_top_p_by_hand` of `top_p_probs`."""
    words = check.name.removeprefix("test_").split("_")
    for word in check.exercise.split("_"):
        if words[0] != word or len(words) == 1:
            break
        del words[0]
    return "_".join(words)


def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> CheckItem | None:
    """Collect a check from its own file as a CheckItem, since pytest cannot call the check itself."""
    folder = collector.path.parent
    if folder.parent != CHECKING or folder.name not in ("checks", "hidden") or not hasattr(obj, "check"):
        return None
    from ..checking.runner import load_checks
    from ..lessons import find_day

    if folder.name == "hidden" and not collector.config.option.course:
        raise collector.CollectError("hidden checks run when your work is graded; authors of checks add --course")
    day = find_day(collector.path.stem.removeprefix("test_"))
    check = next((each for each in load_checks(day.topic) if each.name == name), None)
    if check is None:
        return None
    line = check.function.__code__.co_firstlineno - 1
    return CheckItem.from_parent(collector, name=name, day=day, check=check, notebook=notebook_for(collector.config, day), line=line)


def notebook_for(config: pytest.Config, day: Day, beside: Path | None = None) -> Path | None:
    """Return the notebook for checks of this day, if no notebook is collected; None for the reference solutions."""
    from .workspace import notebook_path

    if config.option.course:
        return None
    folders = [] if beside is None else [beside, beside / day.slug, beside.parent / day.slug]
    near = (path for folder in folders if (path := folder / f"{day.slug}.ipynb").exists())
    chosen: Path = config.option.notebook or next(near, notebook_path(day))
    return chosen.resolve()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move timing checks to the end."""
    items.sort(key=lambda item: isinstance(item, CheckItem) and item.check.timing)


# How it is judged


class CheckItem(pytest.Item):
    """One check of one notebook, or of the reference solutions if notebook is None."""

    def __init__(self, *, day: Day, check: Check, notebook: Path | None, line: int, **more: Any) -> None:
        super().__init__(**more)
        self.day, self.check, self.notebook, self.line = day, check, notebook, line
        self.seconds = 0.0

    def runtest(self) -> None:
        from ..base.verdicts import INCONCLUSIVE, SKIPPED

        if self.check.timing and num_processes(self.config) > 1:
            pytest.skip(ALONE)
        verdict, report = sessions(self.config).verdict(self.day, self.notebook, self.check)
        self.seconds = verdict.seconds
        facts = {"exercise": verdict.exercise, "weight": verdict.weight, "outcome": verdict.outcome, "ratio": verdict.ratio}
        self.user_properties += [(name, fact) for name, fact in facts.items() if fact is not None]
        if verdict.outcome == SKIPPED:
            pytest.skip(verdict.message)
        if verdict.outcome == INCONCLUSIVE:
            pytest.skip(f"inconclusive: {verdict.message}")
        if not verdict.passed:
            raise Lost(verdict.message, report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return our message. A traceback would show only our files."""
        from ..base.errors import CourseError, InfrastructureFault

        error = excinfo.value
        if isinstance(error, Lost):
            return FailureReport(self, *error.args)
        if isinstance(error, CourseError | InfrastructureFault):
            whose = "" if isinstance(error, CourseError) else "no verdict on your work, because of a fault of the machine or the course: "
            return FailureReport(self, whose + str(error), [whose + str(error)])
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line, f"{self.check.exercise}: {self.check.title}"


class Lost(Exception):
    """The error of a check that does not pass. args: the check's message, and the lines of the report about it."""


class FailureReport:
    """The form in which pytest shows a failed check: the report, and the message as one line at the end of the run."""

    def __init__(self, item: CheckItem, message: str, lines: list[str]) -> None:
        self.lines = lines
        self.reprcrash = SimpleNamespace(path=str(item.path), lineno=item.line + 1, message=message)

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def toterminal(self, tw: Any) -> None:
        for line in self.lines:
            tw.line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a check's own time and place; pytest would charge all checks of an exercise to the first one."""
    report = yield
    if isinstance(item, CheckItem) and report.when == "call":
        report.duration = item.seconds
        if isinstance(report.longrepr, tuple):  # of a skipped one: where, and why
            report.longrepr = str(item.path), item.line + 1, report.longrepr[2].removeprefix("Skipped: ")
    return report


SESSIONS = pytest.StashKey["Sessions"]()
LINES = pytest.StashKey[list[str]]()


def sessions(config: pytest.Config) -> Sessions:
    """Return the sessions of the notebooks that this process has opened."""
    from .session import Sessions

    return config.stash.setdefault(SESSIONS, Sessions())


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if SESSIONS in config.stash:
        config.stash[LINES] = config.stash[SESSIONS].finish()
        if hasattr(config, "workeroutput"):
            config.workeroutput["points"] = config.stash[LINES]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if lines := config.stash.get(LINES, []):
        terminalreporter.section("points, counting visible checks only")
        for line in lines:
            terminalreporter.line(line)


# pytest-xdist


def num_processes(config: pytest.Config) -> int:
    return int(getattr(config, "workerinput", {}).get("workercount", 1))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep a day in one process unless --dist says otherwise, because each process would run all of the notebook's cells."""
    named = [Path(argument.split("::")[0]) for argument in config.args]
    if config.option.dist != "load" or not any(path.suffix == ".ipynb" or holds_notebooks(path) for path in named):
        return None
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


def holds_notebooks(folder: Path) -> bool:
    return any(next(folder.glob(pattern), None) for pattern in NOTEBOOKS)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    node.config.stash.setdefault(LINES, []).extend(getattr(node, "workeroutput", {}).get("points", ()))
