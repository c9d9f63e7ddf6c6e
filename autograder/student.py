"""The functions that a notebook imports: check, hint, earlier, if_solved, judge_test, progress, rung, set_record, typed."""

from __future__ import annotations

import dis
import importlib
import inspect
import itertools
import os
import time
import types
from collections.abc import Callable
from typing import Any

from .base import gc_tuning
from .base.errors import CourseError, InfrastructureFault
from .base.verdicts import NOT_WRITTEN, STOPPED, Verdict, only_stubs, share
from .base.wording import agreeing, counted
from .checking.runner import select
from .lessons import Day, lesson
from .notebook import cells, durations, ladder, records, render, workspace
from .notebook.checking import run_for_a_person
from .notebook.display import OutputArea, Table, sentences, shell, show_line, show_markdown
from .notebook.earlier import earlier_module, not_from_here
from .notebook.graded import grade_saved
from .notebook.parse_input import typed
from .notebook.progress import progress
from .notebook.rungs import rungs, two_digits

__all__ = ["check", "earlier", "hint", "if_solved", "judge_test", "progress", "rung", "set_record", "typed"]

PRINTED_LINES = 20
SLOW_SECONDS = 2.0
"""Seconds after which the progress of the checks is shown."""
_verdicts: dict[str, tuple[object, list[Verdict]]] = {}
"""{exercise: (the function as it was when checked, its verdicts)}: a cell run again makes a new function."""
_hints_shown: dict[str, int] = {}
_said: dict[str, tuple[str, str, int | None]] = {}
"""{topic: (the line that `earlier` has printed, the id of the cell that printed it, the number of its run)}"""


gc_tuning.relax()  # so that a kernel ends, or is restarted, a second sooner


class ChecksFailed(AssertionError):
    """An error that `check` raises only if a program runs the notebook and reads errors, as nbgrader's Validate does."""


def check(exercise: str | Callable[..., Any] | None = None, *, graded: bool = False) -> None:
    """Run the visible checks on your function and show a table: each check, its verdict, expected and got, your points.

    exercise: a name or the function itself; without one, all of this notebook's exercises. graded: grade the saved notebook as a submission
    instead: with hidden checks and fresh inputs, in a separate process. Nothing is stored.
    """
    namespace = _caller_namespace()
    if graded:
        try:
            grade_saved(None if exercise is None else _name_of(exercise), namespace)
        except CourseError as error:
            show_line(str(error))
        return
    here = workspace.day_of_notebook(namespace)
    if exercise is None and here is None:
        show_line('Which exercise? Run the first code cell of the notebook, or name one, as in `check("softmax")`.')
        return
    wanted = [each.name for each in lesson(here).exercises] if exercise is None and here is not None else [_name_of(exercise)]
    for name in wanted:
        try:
            _check(name, namespace, here)
        except CourseError as error:
            show_line(str(error))


def _check(exercise: str, namespace: dict[str, Any], here: Day | None) -> None:
    day, max_points = workspace.find_exercise(exercise, here)
    function = namespace.get(exercise)
    if whose := not_from_here(function):
        show_line(f"{exercise}: this function is {whose}. Check it in the notebook of Day {day.number}, where you write it.")
        return
    trouble = cells.trouble(exercise)
    if trouble and function is not None:
        show_line(f"{trouble} Nothing was checked. {_of_the_version_before(exercise, function)}".rstrip())
        if os.environ.get("NBGRADER_EXECUTION"):
            raise ChecksFailed(trouble)
        return
    with OutputArea() as place:
        verdicts, printed = _run(day.topic, exercise, namespace, place)
        passed = not any(v.failed for v in verdicts)
        _verdicts[exercise] = (function, verdicts)
        points = max_points * share(verdicts)
        notes = []
        if stubs := only_stubs(exercise, verdicts):
            notes.append(_what_is_to_be_written(day, exercise, stubs))
            place.put(sentences(notes))
        elif function is None:
            name_stays = f"Run the cell above first; if its first line was changed, the name must stay {exercise}."
            place.put(sentences([f"{exercise}: not defined. {trouble or name_stays}"]))
        else:
            if not passed:
                notes.append(_what_lies_beneath(day, exercise, function, namespace))
            place.put(sentences(notes), _table(day, exercise, verdicts, points, max_points))
    if printed:
        lines = printed.splitlines()
        rest = f"\n… and {counted(len(lines) - PRINTED_LINES, 'more line')}" if len(lines) > PRINTED_LINES else ""
        print("Printed by your code during the checks:\n" + "\n".join(lines[:PRINTED_LINES]) + rest)
    if os.environ.get("NBGRADER_EXECUTION"):
        if not passed:
            raise ChecksFailed(render.summary(exercise, verdicts, points, max_points))
    elif here in (None, day) and not any(v.outcome == STOPPED for v in verdicts):
        workspace.note_standing(day.topic, exercise, round(points, 4), max_points, passed)


def _of_the_version_before(exercise: str, function: object) -> str:
    """Return a sentence on the checks that an older version of the function, still defined, has passed; "" if unknown."""
    checked, verdicts = _verdicts.get(exercise, (None, []))
    passed, failed = sum(v.passed for v in verdicts), sum(v.failed for v in verdicts)
    return f"Your last working version passed {passed} of {counted(passed + failed, 'check')}." if checked is function else ""


def _table(day: Day, exercise: str, verdicts: list[Verdict], points: float, max_points: float) -> Table:
    hidden = 0 if any(v.failed for v in verdicts) else sum(c.hidden for c in select(day.topic, exercise=exercise))
    more = f"{counted(hidden, 'more check')} with fresh inputs {agreeing(hidden, 'runs', 'run')}"
    note = f"{more} when it is graded." if hidden else ""
    return Table(
        render.html_table(exercise, verdicts, points, max_points, note=note),
        render.text_table(exercise, verdicts, points, max_points, note=note),
    )


def _name_of(exercise: object) -> str:
    return exercise if isinstance(exercise, str) else str(getattr(exercise, "__name__", exercise))


def hint(exercise: str | Callable[..., Any]) -> None:
    """Show the next of an exercise's hints: a nudge, then the method, then nearly the code. Hints are not recorded."""
    exercise = _name_of(exercise)
    try:
        day, _ = workspace.find_exercise(exercise, workspace.day_of_notebook(_caller_namespace()))
    except CourseError as error:
        show_line(str(error))
        return
    ladder = lesson(day).hints.get(exercise, ())
    if not ladder:
        print(f"{exercise} has no hints.")
        return
    step = min(_hints_shown.get(exercise, 0), len(ladder) - 1)
    _hints_shown[exercise] = step + 1
    shown = ladder[step]
    more = f"\n\n*Run this again for hint {step + 2} of {len(ladder)}.*" if step + 1 < len(ladder) else ""
    show_markdown(f"**{shown.title}**\n\n{shown.text}{more}")


def earlier(topic: str) -> types.ModuleType:
    """Return the functions of an earlier day: your own where they pass their checks, otherwise the course's.

    Your functions come from your saved notebook of that day. A line says which are yours, and why the others are not.
    """
    at = cells.running(), getattr(shell(), "execution_count", None)
    with OutputArea() as place:
        module, line = earlier_module(topic, place.say)
        said, cell, count = _said.get(topic, ("", "", None))
        if place.handle is not None:
            place.put(sentences([line]))
        elif line != said or at[1] is None or (cell == at[0] and count != at[1]):  # in a kernel once, and again if its cell is rerun
            print(line)
        else:
            return module
    _said[topic] = (line, *at)
    return module


def if_solved(*exercises: str, say: bool = True) -> bool:
    """Return whether these exercises pass their checks in this notebook; if not, print the name of the first that does not.

    say: False prints nothing, for a cell that runs in any case.
    """
    namespace = _caller_namespace()
    for exercise in exercises:
        if not _solved(exercise, namespace):
            if say:
                print(f"This cell waits for {exercise}: it runs once {exercise}'s checks pass.")
            return False
    return True


def judge_test(exercise: str, test: Callable[..., Any]) -> None:
    """Run your test on correct and incorrect solutions of an exercise, and say how many it accepts and rejects.

    test: a function with one parameter, the version to test. It raises (`assert`) if the version is wrong. No points depend on the result.
    """
    try:
        report = importlib.import_module(f"{__package__}.certification.written_tests.report")  # a day that is handed out comes without it
    except ModuleNotFoundError:
        show_line("This copy of the course has no solutions to judge a test on: use `judge_test` in a clone of the course.")
        return
    with OutputArea() as place:
        place.say("Judging your test on the first version.")

        def progress(done: int, total: int) -> None:
            place.say(f"Judged your test on {done} of {counted(total, 'version')}.")

        try:
            place.put(report.shown(report.report_on_function(exercise, test, _caller_namespace(), progress)))
        except (CourseError, InfrastructureFault) as error:
            place.put(sentences([str(error)]))


def rung(name: str, tokens_per_second: float, *, model: Any, batch: float = 1, weight_bytes: int | None = None) -> None:
    """Put a speed that you measured on your ladder, and print it; `progress()` shows the whole ladder.

    batch: tokens that a step makes. weight_bytes: the bytes of weights that a step reads, if fewer than the model's.
    """
    made = ladder.rung(name, tokens_per_second, model=model, batch=batch, weight_bytes=weight_bytes)
    first = rungs()[:1]
    times = made.tokens_per_second / first[0].tokens_per_second if first else 1.0
    more = f"; {two_digits(times)} times {first[0].name}" if first and first[0].name != name else ""
    print(f"{made.line}{more}")


def set_record(day: int, number: float, unit: str, *, text: float, more: bool = False) -> None:
    """Record your result of a day's race against the lesson's number, `text`, if it is your best, and print a line about it.

    more: whether the larger number wins. `progress()` shows the best results.
    """
    try:
        show_line(records.set_record(day, number, unit, text=text, more=more))
    except CourseError as error:
        show_line(str(error))


def _what_is_to_be_written(day: Day, exercise: str, verdicts: list[Verdict]) -> str:
    """Return a sentence that names what to write first: this exercise, or unwritten exercises of the day that it uses."""
    met = {v.message.removeprefix(NOT_WRITTEN).removeprefix(": ").partition(".")[0] for v in verdicts}
    others = [each.name for each in lesson(day).exercises if each.name in met and each.name != exercise]
    if others and len(others) == len(met):
        return f"{exercise} uses {' and '.join(others)}, not written yet. Write that first and run its cell, then this one."
    return f"{exercise}: not written yet. Replace `raise NotImplementedError(...)` in the cell above, run that cell, then this one."


def _what_lies_beneath(day: Day, exercise: str, function: object, namespace: dict[str, Any]) -> str:
    """Return a sentence on exercises that the answer uses and whose own checks fail or have not run, or "" for none.

    A mistake in such an exercise fails the checks of this one, and a student would look for it here.
    """
    names = [each.name for each in lesson(day).exercises]
    beneath, waiting = [], [function]
    while waiting:
        used = _names_used(waiting.pop())
        new = [name for name in names if name in used and name != exercise and name not in beneath and name in namespace]
        beneath += new
        waiting += [namespace[name] for name in new]
    known = {name: not any(v.failed for v in found) for name, (checked, found) in _verdicts.items() if checked is namespace.get(name)}
    fail = [name for name in names if name in beneath and known.get(name) is False]
    if fail:
        have = "has failing checks" if len(fail) == 1 else "have failing checks"
        return f"{exercise} uses {' and '.join(fail)}, which {have}: fix that first, this function may be correct."
    unknown = [name for name in names if name in beneath and name not in known]
    if unknown:
        calls = " and ".join(f'check("{name}")' for name in unknown)
        not_checked = f"{exercise} uses {' and '.join(unknown)}, not checked since that cell was run"
        return f"{not_checked}: run {calls} before you look for a mistake here."
    return ""


def _names_used(thing: object) -> set[str]:
    """Return the global names in a function's code, or in a class's methods, without attributes, as in `x.softmax()`."""
    functions = list(vars(thing).values()) if isinstance(thing, type) else [thing]
    codes = [f.__code__ for f in map(inspect.unwrap, filter(callable, functions)) if isinstance(f, types.FunctionType)]
    names: set[str] = set()
    while codes:
        code = codes.pop()
        names.update(step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return names


def _run(topic: str, exercise: str, namespace: dict[str, Any], place: OutputArea | None = None) -> tuple[list[Verdict], str]:
    """Return the verdicts of the visible checks, and the student's printed output. place: shows how long the checks take."""
    if place is None:
        return run_for_a_person(topic, namespace, exercise=exercise)
    checks = select(topic, exercise=exercise, hidden=False)
    beforehand = durations.beforehand(topic, exercise, checks)
    place.say(beforehand)
    num_untimed, start, begun = sum(not c.timing for c in checks), time.monotonic(), itertools.count()

    def on_check() -> None:
        done = next(begun)
        if done >= num_untimed:
            place.say(f"{beforehand} Now measuring speed.")
        elif time.monotonic() - start > SLOW_SECONDS:
            place.say(f"{beforehand} {done} of {len(checks)} done.")

    return run_for_a_person(topic, namespace, exercise=exercise, on_check=on_check)


def _solved(exercise: str, namespace: dict[str, Any]) -> bool:
    if not_from_here(namespace.get(exercise)):
        return False
    function, verdicts = _verdicts.get(exercise, (None, []))
    if function is None or function is not namespace.get(exercise):
        day, _ = workspace.find_exercise(exercise)
        verdicts, _ = _run(day.topic, exercise, namespace)
        _verdicts[exercise] = (namespace.get(exercise), verdicts)
    return not any(v.failed for v in verdicts)


def _caller_namespace() -> dict[str, Any]:
    """Return the notebook's names; outside IPython, those of the calling module."""
    if (kernel := shell()) is not None:
        namespace: dict[str, Any] = kernel.user_ns
        return namespace
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return frame.f_globals if frame is not None else {}


cells.listen(shell())
