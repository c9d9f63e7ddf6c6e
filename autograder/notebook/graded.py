"""Grading of a learner's own notebook with every check: the report, and in a notebook the grading of the saved file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from course.kit.paths import ROOT

from ..base.errors import CourseError
from ..base.verdicts import Verdict
from ..base.wording import counted
from ..checking.runner import load_checks
from ..lessons import Day
from ..lessons.first_cell import comparable
from . import cells, render, workspace
from .display import OutputArea, Table, sentences

Report = dict[str, Any]
"""The output of `autograder check --graded --json`."""
STUB = "raise NotImplementedError("
STOP_SECONDS = 5.0
"""Seconds in which a stopped grader has to end by itself."""


def require_hidden_checks(day: Day) -> None:
    """Raise CourseError if this copy of the course has no hidden checks of the day."""
    if not any(check.hidden for check in load_checks(day.topic)):
        raise CourseError(
            "this copy of the course has no hidden checks: `git clone` the course, run `make lab` there once, then "
            f"`autograder check {day.slug} --graded --notebook PATH_OF_YOUR_NOTEBOOK`"
        )


def number_of_checks(day: Day) -> str:
    checks = load_checks(day.topic)
    return f"{counted(len(checks), 'check')}, {sum(check.hidden for check in checks)} of them hidden"


# The report


def report_table(report: Report) -> Table:
    """Return the report on a graded notebook: a line or a table of checks for each exercise, then the points."""
    htmls, texts = [], []
    for each in report["exercises"]:
        name, points, most = each["exercise"], each["points"], each["max_points"]
        if each["written"]:
            verdicts = [_verdict(name, check) for check in each["checks"]]
            htmls.append(render.html_table(name, verdicts, points, most))
            texts.append(render.text_table(name, verdicts, points, most))
        else:
            texts.append(f"{name}: not written yet, 0 of {render.points_text(most)} points")
            htmls.append(f"<p><b>{escape(texts[-1])}</b></p>")
    total = f"{report['day']}: {render.points_text(report['points'])} of {render.points_text(report['max_points'])} points"
    how = f"Isolation level {report['isolation']}, seed {report['seed']}. To repeat these inputs: {report['again']}"
    htmls += [f"<p>{escape(note)}</p>" for note in report["notes"]]
    htmls.append(f"<p><b>{escape(total)}</b><br><small>{render.with_code(how)}</small></p>")
    return Table("".join(htmls), "\n".join([*texts, *report["notes"], total, how]))


def _verdict(exercise: str, check: dict[str, Any]) -> Verdict:
    """Return the verdict of a check in a report. A hidden check lacks some fields, which the table does not show."""
    found = Verdict("", exercise, check["title"], 1.0, check["hidden"], check["outcome"])
    for name in check.keys() - {"check", "weight"}:
        setattr(found, name, check[name])
    return found


# From a notebook


def grade_saved(exercise: str | None, namespace: dict[str, Any]) -> None:
    """Grade the saved file of this notebook and show the report. exercise: None for all of the day. Raises CourseError."""
    here = workspace.day_of_notebook(namespace)
    day = here if exercise is None else workspace.find_exercise(exercise, here)[0]
    if day is None:
        raise CourseError('Which exercise? Run the first code cell of the notebook, or name one, as in `check("softmax", graded=True)`.')
    require_hidden_checks(day)
    if os.environ.get("NBGRADER_EXECUTION"):
        raise CourseError("Nothing was graded: a program is running this notebook. Run this cell by hand.")
    path = workspace.saved_notebook(day, namespace)
    line = line_on_file(path, {check.exercise for check in load_checks(day.topic)} if exercise is None else {exercise})
    with OutputArea() as place:
        place.say(f"{line} {number_of_checks(day)}.")
        found = ask_grader(path, exercise, lambda seconds: place.say(f"{line} {number_of_checks(day)}: {seconds:.0f} s so far."))
        place.put(*([sentences([found])] if isinstance(found, str) else [sentences([line]), report_table(found)]))


def line_on_file(path: Path, exercises: set[str]) -> str:
    """Return a sentence on the file that will be graded.

    Raises CourseError if a cell was run here after the file was saved and its text is not in the file.
    """
    saved = path.stat().st_mtime
    when = time.strftime("%H:%M:%S", time.localtime(saved))
    runs, in_file = cells.runs(), sources_in(path)
    if not runs:
        return f"Save the notebook first: the saved file is graded ({path.name}, saved at {when})."
    if unsaved := [run for run in runs if run.began > saved and run.source not in in_file]:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(name for run in unsaved for name in run.names))
        raise CourseError(f"Nothing was graded: {path} does not have {names} as you last ran it. Save there, then run this cell again.")
    ran = {run.source for run in runs}
    waiting = [source for source in in_file if source not in ran and STUB not in source]
    names = ", ".join(f"`{name}`" for source in waiting for name in cells.DEFINED.findall(source) if name in exercises)
    return f"{path.name} is graded as saved at {when}." + (f" You have not run the saved text of {names} here." if names else "")


def sources_in(path: Path) -> list[str]:
    """Return the text of each code cell of a file; [] for a damaged file. The grader reports the damage."""
    try:
        found = json.loads(path.read_bytes())["cells"]
        texts = [cell["source"] for cell in found if cell["cell_type"] == "code"]
        return [comparable(text if isinstance(text, str) else "".join(text)) for text in texts]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return []


def ask_grader(path: Path, exercise: str | None, wait: Callable[[float], None]) -> Report | str:
    """Return the report of `autograder check --graded`, or the command's one-line message if it gives no report.

    wait: called each second, with the seconds so far. The command runs in the course's folder, so it imports no file beside the notebook.
    It runs in a session of its own, so Jupyter's stop button reaches only this process, which then ends the command.
    """
    command = [sys.executable, "-X", "utf8", "-m", "autograder.cli", "check", str(path), "--graded", "--json"]
    command += ["--exercise", exercise] if exercise is not None else []
    start = time.monotonic()
    process = subprocess.Popen(
        command, cwd=ROOT, encoding="utf-8", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        while True:
            try:
                out, errors = process.communicate(timeout=1.0)
                break
            except subprocess.TimeoutExpired:
                wait(time.monotonic() - start)
    except KeyboardInterrupt:
        return "Stopped: nothing was graded."
    finally:
        end(process)
    try:
        report = json.loads(out)
        return dict(report)
    except ValueError:
        lines = errors.strip().splitlines() or [f"it ended with status {process.returncode}"]
        return f"Nothing was graded: {lines[-1].removeprefix('autograder: ')}"


def end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
