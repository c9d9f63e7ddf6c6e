"""The class of samples: each gets the score it deserves, in its record, in the gradebook and on its page."""

from __future__ import annotations

import pytest

from autograder.base.errors import CourseError
from autograder.commands.grading import Lines
from autograder.demo import demo
from autograder.grading.records import ExerciseScore
from autograder.lessons import find_day, lesson

pytestmark = pytest.mark.slow
DAYS = [find_day("softmax"), find_day("costs")]
"""Two of different kinds, and quick to grade: `make demo` does all days."""
STUDENTS = ["ada", "bela", "chidi", "dara", "emeka", "fatima", "goran", "hana", "ivan", "jun", "kofi", "lena", "mateo", "nadia"]
ATTACKERS = ["oona", "pavel", "quinn"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("class") / "demo"


@pytest.fixture(scope="module")
def outcomes(folder) -> dict[tuple[str, str], demo.Outcome]:
    return {(o.record.slug, o.record.student): o for o in demo.run(folder, DAYS, jobs=2)}


@pytest.mark.parametrize("day", DAYS, ids=lambda day: day.topic)
@pytest.mark.parametrize("student", STUDENTS + ATTACKERS)
def test_each_sample_gets_the_score_it_deserves(outcomes, day, student):
    outcome = outcomes[day.slug, student]
    scores = {s.exercise: (s.points, s.max_points) for s in outcome.record.scores}
    assert outcome.sample.expected.met_by(outcome.record), (outcome.sample.description, scores)
    assert outcome.booked == pytest.approx(outcome.record.points)
    assert outcome.as_expected


@pytest.mark.parametrize("day", DAYS, ids=lambda day: day.topic)
def test_the_scores_of_the_class_in_numbers(outcomes, day):
    """The rules once more, worked out apart from the script."""
    total = lesson(day).points
    first = next(iter(demo.Maker(day).exercises))
    worth = {e.name: e.points for e in lesson(day).exercises}
    got = {student: outcomes[day.slug, student].record.points for student in STUDENTS + ATTACKERS}
    assert {got[student] for student in ("ada", "bela", "kofi", "lena", "nadia")} == {total}
    assert got["fatima"] == got["mateo"] == 0
    lost = total - worth[demo.Maker(day).victim]
    assert got["goran"] == got["hana"] == got["ivan"] == lost
    assert {got[student] for student in ("jun", *ATTACKERS)} == {worth[first]}  # the honest part, and nothing else
    for student in ("chidi", "dara", "emeka"):
        wrong = outcomes[day.slug, student].sample.expected.less
        assert total - worth[wrong] <= got[student] < total


@pytest.mark.parametrize("day", DAYS, ids=lambda day: day.topic)
def test_what_became_of_each_is_said(outcomes, day):
    status = {student: outcomes[day.slug, student].record.status for student in STUDENTS + ATTACKERS}
    assert status["ada"] == status["nadia"] == "pass"
    assert (status["fatima"], status["hana"], status["ivan"], status["mateo"]) == ("zero", "timed out", "crashed", "unreadable")


def test_each_has_a_page(outcomes, folder):
    for slug, student in outcomes:
        assert (folder / "feedback" / student / slug / f"{slug}.html").stat().st_size > 10_000


def test_wrong_samples_are_of_different_exercises_as_far_as_there_are(outcomes):
    for day in DAYS:
        wrong = [outcomes[day.slug, student].sample.expected.less for student in ("chidi", "dara", "emeka")]
        assert len(set(wrong)) == min(3, len(demo.Maker(day).unused))


def test_an_unexpected_score_is_seen():
    expected = demo.ExpectedScore(zero=frozenset({"b"}), less="c")

    def met(a: float, b: float, c: float) -> bool:
        scores = [ExerciseScore(name, points, 4.0) for name, points in (("a", a), ("b", b), ("c", c))]
        return expected.met_by(_Scores(scores))

    assert met(4, 0, 3.9)
    assert not met(3.9, 0, 3.9)
    assert not met(4, 0.1, 3.9)
    assert not met(4, 0, 4)


class _Scores:
    def __init__(self, scores: list[ExerciseScore]) -> None:
        self.scores = scores


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(CourseError, match="contains files that no demo made"):
        demo.run(tmp_path, DAYS)
    assert (tmp_path / "thesis.tex").exists()


def test_what_is_broken_is_an_exercise_that_no_other_ones_checks_call():
    """No other answer of Day 13 uses forward_paged or publish_blocks, and the checks of paged_decode and start_sequence call them."""
    assert demo.Maker(find_day("paging")).unused == ["paged_decode"]


def test_a_log_hears_of_a_long_run_now_and_then_and_of_a_short_one_nothing(capsys):
    lines = Lines("grading", 3, clock=iter([0.0, 29.9, 30.0, 59.9]).__next__)
    for _ in range(3):
        lines.step("any text")
    assert capsys.readouterr().err == "grading: 2 of 3\n"
