"""Gradescope's results.json: one file a submission, with what a student may see and what only staff may."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..grading.records import Record
from ..nbgrader_bridge.pages import shown, without_repeats
from ..render import text_detail
from ..verdicts import Verdict
from .results import ExerciseResult, Result, lost

if TYPE_CHECKING:  # a race needs torch, and an export does not
    from ..race.running import Outcome


def results_json(result: Result) -> bytes:
    """The file as Gradescope's autograder specification has it. The submission must have been graded."""
    return json.dumps(results(result), indent=1, ensure_ascii=False).encode()


def results(result: Result) -> dict[str, Any]:
    """score at the top is what counts; it stands above the sum of the tests, for a grade may be corrected by hand."""
    record = result.record
    tests: list[dict[str, Any]] = []
    for place, exercise in enumerate(result.exercises, start=1):
        tests += _tests(result, exercise, place)
    if result.penalty:
        tests.append({"name": "handed in late", "score": -result.penalty, "max_score": 0, "output": result.late, "visibility": "visible"})
    head = [f"This file could not be graded: {record.problem}"] if record.problem is not None else []
    head += [f"The cell {name} did not run to its end: {text}" for name, text in record.cells.items()]
    return {
        "score": result.points,
        "execution_time": round(record.seconds, 2),
        "output": "\n".join(head) or "Each check says what it tried; checks with fresh inputs are told by number only.",
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": extra_data(record),
        "tests": tests,
    }


def extra_data(record: Record) -> dict[str, Any]:
    """What only staff can see: Gradescope keeps it with the submission.

    Hidden checks stand here and not among the tests, because a test with visibility `hidden` hides the total from students too.
    """
    hidden = [
        {"check": v.check, "exercise": v.exercise, "outcome": v.outcome, "message": v.message, "likely_cause": v.cause}
        for v in record.verdicts if v.hidden
    ]  # fmt: skip
    how = {"course_version": record.course_version, "isolation": record.isolation, "seed": record.seed, "status": record.status}
    return {**how, "hidden_checks": hidden}


def _tests(result: Result, exercise: ExerciseResult, place: int) -> list[dict[str, Any]]:
    """An exercise's checks: visible ones one by one, hidden ones together as one line that says how many pass."""
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
        name, output = f"{exercise.exercise}: checks with fresh inputs", f"{passed} of {len(hidden)} pass"
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


def race_results(outcome: Outcome, not_verified: str = "") -> dict[str, Any]:
    """results.json of the capstone: a test for each part of being right, and a place on the leaderboard for a score that is verified."""
    tests = [
        {
            "name": part.title, "number": f"{place}", "score": part.points, "max_score": 1,
            "status": "passed" if part.points else "failed", "output": part.fault or "", "visibility": "visible",
        }
        for place, part in enumerate(outcome.parts, start=1)
    ]  # fmt: skip
    made: dict[str, Any] = {
        "score": outcome.points,
        "execution_time": outcome.seconds,
        "output": outcome.fault or ("inconclusive: the reference differs from itself" if outcome.inconclusive else ""),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"race": outcome.as_data(), "not_verified": not_verified},
        "tests": tests,
    }
    if outcome.score is not None and not not_verified:
        board = [{"name": "goodput x reference", "value": round(outcome.score, 2), "order": "desc"}]
        board += [{"name": f"tokens/s at {rate.rate:g}x", "value": round(rate.goodput)} for rate in outcome.rates]
        made["leaderboard"] = board
    return made
