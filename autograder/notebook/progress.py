"""A student's progress: `progress()` of a notebook, and `autograder progress`."""

from __future__ import annotations

from ..base.wording import counted
from ..lessons import lesson, syllabus
from . import records, render, rungs, workspace
from .display import Table, show


def progress() -> None:
    """Show the days, exercises and points so far, counted by the checks that you have run, and the next step.

    Below the table are your ladder of tokens per second and your records.
    """
    folder = workspace.workspace_folder()
    standings = workspace.standings(folder)
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
        of = counted(len(exercises), "exercise")
        lines.append(f"Day {day.number:>2}  {day.title:<34} {done}/{of:<11}  {points} points  next: {following}")
    html, text = render.plain_table(("day", "title", "exercises", "points", "next"), rows), "\n".join(lines)
    if found := rungs.rungs():
        html, text = html + rungs.html(found), f"{text}\n\n{rungs.text(found)}"
    if held := records.records():
        html, text = html + records.html(held), f"{text}\n\n{records.text(held)}"
    show(Table(html, text))
