"""What a notebook imports: check, hint, earlier, if_solved, progress, rung."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
import types
from typing import Any

from . import desk, ladder, render
from .errors import CourseError
from .grading.near import Near
from .lessons import lesson, syllabus
from .runner import Verdict, run_checks, select, share

__all__ = ["check", "earlier", "hint", "if_solved", "progress", "rung"]

PRINTED_LINES = 20
_verdicts: dict[str, tuple[object, bool]] = {}
"""{exercise: (the function as it was when checked, whether it passed)}: a cell run again makes a new function."""
_hints_shown: dict[str, int] = {}


class Table:
    """Something shown: HTML where the front end can, text elsewhere."""

    def __init__(self, html: str, text: str) -> None:
        self._html, self._text = html, text

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return self._text


class ChecksFailed(AssertionError):
    """Raised by `check` only where a program, not a person, runs the notebook and reads errors (nbgrader's Validate)."""


def check(exercise: str) -> None:
    """Holds your function against the checks you may see and shows a table: each check, its verdict, the likely cause, the points."""
    namespace = _caller_namespace()
    try:
        day, max_points = desk.find_exercise(exercise)
    except CourseError as error:
        _show_text(str(error))
        return
    verdicts, printed = _run(day.topic, exercise, namespace)
    passed = not any(v.failed for v in verdicts)
    _verdicts[exercise] = (namespace.get(exercise), passed)
    points = max_points * share(verdicts)
    if verdicts and all(v.message.startswith("not written yet") for v in verdicts):
        _show_line(f"{exercise}: not written yet. Replace `raise NotImplementedError(...)` in the cell above, run it, then this one.")
    elif verdicts and all("is not defined" in v.message and exercise in v.message for v in verdicts):
        _show_line(f"{exercise}: not defined. Run the cell above first; if its first line was changed, the name must stay {exercise}.")
    else:
        hidden = sum(c.hidden for c in select(day.topic, exercise=exercise)) if passed else 0
        note = f"{hidden} more checks with fresh inputs run when it is graded." if hidden else ""
        _show(
            Table(
                render.html_table(exercise, verdicts, points, max_points, note=note),
                render.text_table(exercise, verdicts, points, max_points, note=note),
            )
        )
    if printed:
        lines = printed.splitlines()
        rest = f"\n… and {len(lines) - PRINTED_LINES} more lines" if len(lines) > PRINTED_LINES else ""
        _show_text("Printed by your code during the checks:\n" + "\n".join(lines[:PRINTED_LINES]) + rest)
    if os.environ.get("NBGRADER_EXECUTION"):
        if not passed:
            raise ChecksFailed(render.summary(exercise, verdicts, points, max_points))
    else:
        desk.note_standing(day.topic, exercise, round(points, 4), max_points, passed)


def hint(exercise: str) -> None:
    """Shows the next step of an exercise's hints: a nudge, then the method, then nearly the code. Recorded nowhere."""
    try:
        day, _ = desk.find_exercise(exercise)
    except CourseError as error:
        _show_text(str(error))
        return
    ladder = lesson(day).hints.get(exercise, ())
    if not ladder:
        _show_text(f"{exercise} has no hints.")
        return
    step = min(_hints_shown.get(exercise, 0), len(ladder) - 1)
    _hints_shown[exercise] = step + 1
    shown = ladder[step]
    more = f"\n\n*Run this again for hint {step + 2} of {len(ladder)}.*" if step + 1 < len(ladder) else ""
    _show_markdown(f"**{shown.title}**\n\n{shown.text}{more}")


def earlier(topic: str) -> types.ModuleType:
    """The functions of an earlier day: your own if that day's checks pass, else the course's. Says which in one line."""
    module, line = desk.earlier_module(topic)
    print(line)
    return module


def if_solved(*exercises: str) -> bool:
    """Whether these exercises pass their checks in this notebook; if not, prints which is still open."""
    namespace = _caller_namespace()
    for exercise in exercises:
        if not _solved(exercise, namespace):
            print(f"This cell waits for {exercise}: it runs once {exercise}'s checks pass.")
            return False
    return True


def rung(name: str, tokens_per_second: float, *, model: Any, batch: int = 1) -> None:
    """Puts a speed that you measured on your ladder, and says it in one line; `progress()` shows the whole ladder."""
    made = ladder.rung(name, tokens_per_second, model=model, batch=batch)
    first = ladder.rungs()[:1]
    times = made.tokens_per_second / first[0].tokens_per_second if first else 1.0
    more = f"; {times:.1f} times {first[0].name}" if first and first[0].name != name else ""
    print(f"{made.line}{more}")


def progress() -> None:
    """Days, exercises and points so far, by the checks that you have run, what to do next, and your ladder of tokens per second."""
    folder = desk.desk_folder()
    standings = desk.standings(folder)
    rows, lines = [], []
    for day in syllabus():
        if not day.ready:
            continue
        exercises = lesson(day).exercises
        have = sum(standings[k].points for e in exercises if (k := f"{day.topic}/{e.name}") in standings)
        total = sum(e.points for e in exercises)
        done = sum(k in standings and standings[k].passed for e in exercises if (k := f"{day.topic}/{e.name}"))
        opened = [e.name for e in exercises if not ((k := f"{day.topic}/{e.name}") in standings and standings[k].passed)]
        following = opened[0] if opened else "done"
        points = f"{render.points_text(have)} of {render.points_text(total)}"
        rows.append((str(day.number), day.title, f"{done} of {len(exercises)}", points, following))
        lines.append(f"Day {day.number:>2}  {day.title:<34} {done}/{len(exercises)} exercises  {points} points  next: {following}")
    head = "".join(f'<th scope="col" style="{render.CELL}">{h}</th>' for h in ("day", "title", "exercises", "points", "next"))
    body = "".join("<tr>" + "".join(f'<td style="{render.CELL}">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    html, text = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", "\n".join(lines)
    if found := ladder.rungs():
        html, text = html + ladder.html(found), f"{text}\n\n{ladder.text(found)}"
    _show(Table(html, text))


def _run(topic: str, exercise: str, namespace: dict[str, Any]) -> tuple[list[Verdict], str]:
    """Verdicts of the visible checks, and what the student's code printed meanwhile."""
    printed = io.StringIO()
    selected = select(topic, exercise=exercise, hidden=False)
    with contextlib.redirect_stdout(printed):
        verdicts = run_checks(topic, selected, Near(namespace))
    return verdicts, printed.getvalue()


def _solved(exercise: str, namespace: dict[str, Any]) -> bool:
    function, passed = _verdicts.get(exercise, (None, False))
    if function is None or function is not namespace.get(exercise):
        day, _ = desk.find_exercise(exercise)
        verdicts, _ = _run(day.topic, exercise, namespace)
        passed = not any(v.failed for v in verdicts)
        _verdicts[exercise] = (namespace.get(exercise), passed)
    return passed


def _caller_namespace() -> dict[str, Any]:
    """The notebook's names; outside IPython, those of the module that called."""
    if "IPython" in sys.modules:
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        if shell is not None:
            return shell.user_ns
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return frame.f_globals if frame is not None else {}


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    return get_ipython() is not None


def _show(table: Table) -> None:
    if _in_notebook():
        from IPython.display import display

        display(table)
    else:
        print(table)


def _show_text(text: str) -> None:
    print(text)


def _show_line(text: str) -> None:
    """A sentence: a notebook breaks printed lines in the middle of words."""
    _show(Table(f"<p>{render.with_code(text)}</p>", text))


def _show_markdown(text: str) -> None:
    if _in_notebook():
        from IPython.display import Markdown, display

        display(Markdown(text))
    else:
        print(text)
