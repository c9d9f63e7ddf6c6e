"""The class report's part on speed: ratios from races that were really run, on a class of six with a check of its own."""

from __future__ import annotations

import csv
import datetime
import io
import math

import pytest
from bs4 import BeautifulSoup

from autograder.checking import runner
from autograder.checking.runner import Check
from autograder.gradebook.books.bulk import ClassFolder
from autograder.gradebook.reports import report, speeds
from autograder.gradebook.results import ClassResults, class_results
from autograder.grading import timing_phase
from autograder.grading.grade import Options
from autograder.grading.run import grade_all
from autograder.sandbox.confine.limits import Limits

from ..sandbox.test_timing import SLOW, call, draw
from ..support.submissions import SOFTMAX, hand_in, released, solved

REPEATED = SLOW.replace("400", "{times}").strip()
OTHER_ANSWER = "def softmax(logits):\n    return logits.softmax(dim=-1) + (logits.numel() == 20_000) * 0.01"
HANGS_IN_THE_RACE = "def softmax(logits):\n    while logits.numel() == 20_000: pass\n    return logits.softmax(dim=-1)"
CLASS = {
    "ada": solved(),
    "slow": solved(softmax=REPEATED.format(times=150)),
    "slower": solved(softmax=REPEATED.format(times=600)),
    "stuck": solved(softmax=HANGS_IN_THE_RACE),
    "other": solved(softmax=OTHER_ANSWER),
    "blank": released(),
}


def race_that_tells(race):
    """quick enough"""
    race.against(SLOW, draw, call, cause="Once is enough.")


def race_that_cannot_tell(race):
    """as quick as itself"""
    race.against("pass\n", draw, call)


TIMED = [
    Check(f.__name__, "softmax", f.__doc__ or "", 1.0, hidden, f, timing=True)
    for f, hidden in ((race_that_tells, False), (race_that_cannot_tell, True))
]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("speed")
    with pytest.MonkeyPatch.context() as patch:
        checks = (*runner.load_checks("softmax"), *TIMED)
        for module in (runner, timing_phase):
            patch.setattr(module, "load_checks", lambda topic: checks)
        tasks = [hand_in(root, student, notebook) for student, notebook in CLASS.items()]
        folder = ClassFolder.of(root / "submitted")
        grade_all(tasks, Options(limits=Limits(call_seconds=1.0, cell_seconds=2.0)), folder.records)
        yield class_results(folder, [SOFTMAX])


def lines(results: ClassResults) -> dict[str, speeds.SpeedLine]:
    return {line.check: line for line in speeds.speed_lines(results.results)}


def test_the_class_is_counted_by_what_became_of_its_race(results):
    line = lines(results)["race_that_tells"]
    assert (line.passed, line.failed, line.inconclusive, line.unmeasured) == (1, 3, 0, 2)
    assert len(line.ratios) == sum(line.bins) == 3  # ada, slow, slower; stuck has none
    assert line.ratios[0] < line.limit < line.ratios[1] < line.ratios[2]
    assert line.of == "the reference's processor time"


def test_what_stays_inconclusive_is_reported_as_that(results):
    line = lines(results)["race_that_cannot_tell"]
    assert (line.passed, line.failed, line.inconclusive) == (0, 1, 3)  # ada, slow, slower; stuck is too slow for any race
    assert line.words == "Nothing could be measured."


def test_a_record_keeps_the_ratio_its_limit_and_to_what_it_is_one(results):
    records = {r.record.student: r.record for r in results.results}
    ada, slower = (next(v for v in records[s].verdicts if v.check == "race_that_tells") for s in ("ada", "slower"))
    assert ada.ratio < ada.ratio_limit < slower.ratio
    assert f"{slower.ratio:.1f} times" == slower.got
    assert ada.ratio_of == slower.ratio_of == "the reference's processor time"
    assert all(v.ratio is None for v in records["ada"].verdicts if not v.check.startswith("race"))


def test_the_page_draws_it_and_says_it_in_words(results):
    soup = BeautifulSoup(report.html(results, datetime.datetime(2026, 11, 22, tzinfo=datetime.UTC)), "html.parser")
    section = soup.find("section", attrs={"aria-label": "Speed in softmax"})
    line = lines(results)["race_that_tells"]
    picture = section.find("svg")
    assert picture["aria-label"] == line.words
    assert line.words in section.get_text()
    assert [int(t.get_text()) for rect in picture.find_all("rect") for t in [rect.find_next("text")]] == [n for n in line.bins if n]
    assert [float(dd.get_text()) for dd in section.find_all("dd")] == [1, 3, 0, 2]
    assert picture.find("path", class_="limit")


def test_the_table_has_a_row_for_each_submission_and_race(results):
    rows = list(csv.DictReader(io.StringIO(speeds.speed_csv(results).decode())))
    mine = {row["student"]: row for row in rows if row["check"] == "race_that_tells"}
    assert mine.keys() == CLASS.keys()
    assert mine["ada"]["outcome"] == "pass"
    assert float(mine["slow"]["ratio"]) > float(mine["slow"]["limit"])
    assert (mine["stuck"]["ratio"], mine["stuck"]["message"]) == ("", "too slow")
    assert mine["blank"]["message"].startswith("not measured")


def test_half_and_double_lie_equally_far_from_one():
    assert speeds.place(2.0) - speeds.place(1.0) == speeds.place(1.0) - speeds.place(0.5) == speeds.STEPS_PER_DOUBLING
    assert [speeds.bin_of(r) for r in (0.01, 0.5, 15.9, 16.0, 1e6)] == [0, 1, 10, 11, 11]
    assert math.isclose(speeds.axis()[-1], speeds.LAST_EDGE)
