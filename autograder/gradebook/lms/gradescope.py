"""Gradescope's results.json: one file a submission, with one part for the student and one for staff."""

from __future__ import annotations

import json
from typing import Any

from ...base.verdicts import Verdict
from ...base.wording import agreeing
from ...grading.records import FLOAT32, RaceScore, Record
from ...notebook.render import text_detail
from ...sandbox.protocol.text import cell_title
from ..books.pages import shown, without_repeats
from ..results import ExerciseResult, Result, lost


def results_json(result: Result) -> bytes:
    """Return the file in the format of Gradescope's autograder specification. The submission must have been graded."""
    return json.dumps(results(result), indent=1, ensure_ascii=False).encode()


def results(result: Result) -> dict[str, Any]:
    """Return Gradescope's results. The top-level score overrides the sum of the tests, because a grade may be corrected by hand."""
    record = result.record
    tests: list[dict[str, Any]] = []
    for place, exercise in enumerate(result.exercises, start=1):
        tests += _tests(result, exercise, place)
    if result.penalty:
        tests.append({"name": "handed in late", "score": -result.penalty, "max_score": 0, "output": result.late, "visibility": "visible"})
    head = [f"This file could not be graded: {record.problem}"] if record.problem is not None else []
    head += [f"The {cell_title(name)} did not run to its end: {text}" for name, text in record.cells.items()]
    if record.race is not None:
        head.append(f"the race: {record.race.fault}" if record.race.score is None else f"the race: score {record.race.score:.2f}")
    made: dict[str, Any] = {
        "score": result.points or 0.0,  # Gradescope wants a number, and takes an unreadable file again at once
        "execution_time": round(record.seconds, 2),
        "output": "\n".join(head) or "Each check says what it tried; checks with fresh inputs are only counted.",
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": extra_data(record),
        "tests": tests,
    }
    if record.race is not None and (places := leaderboard(record.race)):
        made["leaderboard"] = places
    return made


def extra_data(record: Record) -> dict[str, Any]:
    """Return the part that only staff can see; Gradescope stores it with the submission.

    Hidden checks are in this part and not among the tests, because a test with visibility `hidden` hides the total from students, too.
    """
    hidden = [
        {"check": v.check, "exercise": v.exercise, "outcome": v.outcome, "message": v.message, "likely_cause": v.cause}
        for v in record.verdicts if v.hidden
    ]  # fmt: skip
    how = {"course_version": record.course_version, "isolation": record.isolation, "seed": record.seed, "status": record.status}
    race = {} if record.race is None else {"race": vars(record.race)}
    return {**how, **race, "hidden_checks": hidden}


def _tests(result: Result, exercise: ExerciseResult, place: int) -> list[dict[str, Any]]:
    """Return an exercise's checks: visible ones one by one, hidden ones together as one line with the number that pass."""
    verdicts = [v for v in without_repeats([shown(v) for v in result.record.exercise(exercise.exercise)]) if v.outcome != "skipped"]
    weight = sum(v.weight for v in verdicts) or 1.0
    seen, hidden = [v for v in verdicts if not v.hidden], [v for v in verdicts if v.hidden]
    worth = exercise.max_points / weight
    tests = [
        _test(f"{exercise.exercise}: {v.title}", f"{place}.{n}", exercise, [v], worth, "\n".join(text_detail(v)) if lost(v) else "")
        for n, v in enumerate(seen, start=1)
    ]
    if hidden:
        passed = sum(not lost(v) for v in hidden)
        name, output = f"{exercise.exercise}: checks with fresh inputs", f"{passed} of {len(hidden)} {agreeing(passed, 'passes', 'pass')}"
        tests.append(_test(name, f"{place}.{len(seen) + 1}", exercise, hidden, worth, output))
    if not verdicts:
        tests.append({
            "name": exercise.exercise, "number": f"{place}", "score": exercise.automatic, "max_score": exercise.max_points,
            "status": "failed", "output": "not graded", "tags": [exercise.exercise], "visibility": "visible",
        })  # fmt: skip
    if exercise.by_hand:
        tests.append({
            "name": f"{exercise.exercise}: corrected by hand", "score": round(exercise.points - exercise.automatic, 4), "max_score": 0,
            "output": "", "tags": [exercise.exercise], "visibility": "visible",
        })  # fmt: skip
    return tests


def _test(name: str, place: str, exercise: ExerciseResult, verdicts: list[Verdict], worth: float, output: str) -> dict[str, Any]:
    most = sum(v.weight for v in verdicts) * worth
    got = sum(v.weight for v in verdicts if not lost(v)) * worth
    return {
        "name": name,
        "number": place,
        "score": round(got, 4),
        "max_score": round(most, 4),
        "status": "failed" if any(map(lost, verdicts)) else "passed",
        "output": output,
        "tags": [exercise.exercise],
        "visibility": "visible",
    }


def leaderboard(race: RaceScore) -> list[dict[str, Any]]:
    """Return the leaderboard's entries for a score that can be compared with others; [] for any other race.

    Races by another rule or on another model have separate columns, because Gradescope sorts all submissions in one table.
    """
    if race.score is None or race.not_verified:
        return []
    of_board = "".join(f", {word}" for word in (race.model, race.board) if word not in ("tiny", FLOAT32))
    speeds = [{"name": f"tokens/s at {rate}x{of_board}", "value": round(goodput)} for rate, goodput in race.goodputs.items()]
    return [{"name": f"goodput x reference{of_board}", "value": round(race.score, 2), "order": "desc"}, *speeds]
