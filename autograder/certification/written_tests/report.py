"""The report on a test: how many versions it accepts and rejects, and a hint for incorrect versions that it accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import CourseError
from ...base.wording import agreeing, counted
from ...lessons.marks import bound_names
from ...notebook.display import Table
from ...notebook.render import with_code
from .collect import gathered
from .inspection import remarks
from .judging import Judged, Run, TestDoesNotRun, judge
from .tasks import Task, task

NUDGES = 3
"""The number of rules that are named at once: those that most of the accepted incorrect versions break."""
SEED = "draw from a generator with a fixed seed."
ENDED = {
    "timeout": "it did not end in time. Does every loop of the test end?",
    "slow": "it did not end in time. It calls the function too often: use fewer and smaller cases.",
    "crashed": "its process ended before the test did.",
    "memory": "it used up the memory.",
}


def report_on_function(
    exercise: str, test: Callable[..., Any], namespace: dict[str, Any], progress: Callable[[int, int], None] | None = None
) -> list[str]:
    """Return the report on a notebook's function. Raises CourseError if it cannot be judged."""
    which = task(exercise)
    name = getattr(test, "__name__", "this")
    try:
        uses, source = gathered(test, namespace, exercise=exercise, given=bound_names(which.setup))
    except CourseError as error:
        raise CourseError(f"{name} cannot be judged: {error}") from None
    return report_on_source(which, source, name, uses=uses, progress=progress)


def report_on_source(
    which: Task, source: str, name: str, *, uses: str = "", progress: Callable[[int, int], None] | None = None
) -> list[str]:
    try:
        judged = judge(which, source, name, uses=uses, progress=progress)
    except TestDoesNotRun as error:
        return [f"{name} does not run: {error}"]
    return summary(judged, name, remarks(source))


def summary(judged: Judged, name: str, remarked: list[str]) -> list[str]:
    if judged.refused is not None:
        if judged.refused.kind == "NotImplementedError" and judged.refused.message == name:
            return [f"{name}: not written yet. Write the test in the cell above, run that cell, then this one."]
        luck = [f"In another run it accepted the same version: {SEED}"] if judged.unsure else []
        return [why_refused(judged.refused, name), *luck, *remarked]
    lines = [
        f"{name} accepts {judged.right_accepted} of {counted(judged.right_total, 'correct version')}; "
        f"rejects {judged.rejected} of {judged.wrong_total} incorrect ones. Score: {judged.score:.0%}."
    ]
    if judged.returned:
        lines.append("The test returns a value, which is ignored: to reject a version, raise an exception, as `assert` does.")
    if judged.unsure:
        versions = "one version" if judged.unsure == 1 else f"{judged.unsure} versions"
        count = agreeing(judged.unsure, "it does", "they do")
        lines.append(f"Its two runs disagreed on {versions}, so {count} not count as rejected: {SEED}")
    if judged.through:
        which = "one of these promises" if len(judged.through) > 1 else "this promise"
        lines.append(f"The accepted incorrect versions break {which} of the docstring:")
        most = sorted(judged.through.items(), key=lambda each: (-each[1], judged.rules.index(each[0])))
        lines += [f"- {rule} ({count})" for rule, count in most[:NUDGES]]
        left = len(judged.through) - NUDGES
        if left > 0:
            lines.append(f"- and {counted(left, 'more promise')}.")
    return lines + remarked


def shown(lines: list[str]) -> Table:
    """Return a report for a notebook, with lines that begin with a dash as a list."""
    html = ""
    for line in lines:
        item = line.startswith("- ")
        html = html.removesuffix("</ul>") if item else html
        opened = "" if not item or html.endswith("</li>") else "<ul>"
        html += f"{opened}<li>{with_code(line[2:])}</li></ul>" if item else f"<p>{with_code(line)}</p>"
    return Table(html, "\n".join(lines))


def why_refused(run: Run, name: str) -> str:
    head = f"{name} does not accept a correct version, so its score is 0%"
    if run.outcome != "rejects":
        return f"{head}: {ENDED.get(run.outcome, run.message)}"
    place = f" at `{run.line.partition(': ')[2]}` ({run.line.partition(': ')[0]})" if run.line else ""
    message = f"{run.kind}: {run.message}" if run.message else run.kind
    return f"{head}. It raises{place}: {message}. A test demands what the docstring promises, and nothing else."
