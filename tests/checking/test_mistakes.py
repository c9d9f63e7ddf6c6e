"""A mistake is named where all that the checks see is what they see of a known one, and only there."""

import json
import random

import pytest
import torch

from autograder.base.course_table import known_topics
from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.certification import mistake_index
from autograder.certification.certify import judge, read_specimen
from autograder.checking import mistakes
from autograder.checking.mistakes import NOTEBOOK_SEED, alike, fingerprint
from autograder.checking.runner import reference, run_checks, select
from autograder.sandbox.confine.limits import Limits
from autograder.sandbox.process.local import LocalStudent
from course.kit.threads import one_thread

from ..sandbox.test_local_student import MEASURES


def softmax_verdicts(function, **options):
    return run_checks("softmax", select("softmax", exercise="softmax", timing=False, **options), LocalStudent({"softmax": function}))


def causes(verdicts):
    return [v.cause for v in verdicts if v.cause]


def test_a_fingerprint_knows_values_again_and_tells_others_apart():
    values = torch.linspace(-2, 3, 1000)
    assert alike(fingerprint(values), fingerprint(values * (1 + 1e-7)))
    assert not alike(fingerprint(values), fingerprint(values.flip(0)))
    assert not alike(fingerprint(values), fingerprint(values.double()))
    assert not alike(fingerprint(values), fingerprint(values.reshape(10, 100)))
    assert not alike(fingerprint(values), fingerprint(values * 1.01))
    assert not alike(fingerprint([1, 2]), fingerprint([2, 1]))
    assert alike(json.loads(json.dumps(fingerprint(values))), fingerprint(values))
    for odd in (float("nan"), float("inf"), torch.full((3,), 1e300, dtype=torch.float64), torch.tensor([]), None, True, "text", {"a": 1.0}):
        assert alike(json.loads(json.dumps(fingerprint(odd))), fingerprint(odd))


def test_a_known_mistake_is_named_once_and_the_other_checks_point_to_it():
    verdicts = softmax_verdicts(lambda x: torch.softmax(-x, dim=-1), hidden=False)
    failed = [v for v in verdicts if v.failed]
    assert len(failed) > 1
    assert sum("matches a known mistake" in cause for cause in causes(failed)) == 1
    assert {v.same_as for v in failed if v.same_as} <= {failed[0].title}


def test_a_mistake_nobody_knows_gets_no_cause():
    """Half of one known mistake and half of another: single checks see known values, all together are nobody's."""
    verdicts = softmax_verdicts(lambda x: torch.softmax(x, dim=-1) * (1 + 0.37 * torch.arange(x.shape[-1]).to(x)), hidden=False)
    assert any(v.failed for v in verdicts)
    assert causes(verdicts) == []


def test_a_mistake_is_named_with_other_inputs_too():
    checks = select("softmax", exercise="softmax", timing=False)
    verdicts = run_checks("softmax", checks, LocalStudent({"softmax": lambda x: torch.softmax(-x, dim=-1)}), seed=12345)
    assert sum("matches a known mistake" in cause for cause in causes(verdicts)) == 1


def test_without_values_nothing_is_known():
    assert not mistakes.tells({"a": ["error", "NameError"], "b": ["timeout"]})
    assert not mistakes.tells({"a": ["fail", "the result is not a tensor", fingerprint(None)]})
    assert mistakes.tells({"a": ["fail", "wrong values", fingerprint(torch.tensor([0.5, 0.5]))]})


def test_no_more_than_two_mistakes_are_named(monkeypatch):
    found = {"check": ["fail", "wrong values", fingerprint(torch.tensor([0.5, 0.25]))]}
    for count, named in ((1, 1), (2, 2), (3, 0)):
        rows = [("f", f"wrong_{i}.py", f"mistake {i}", found) for i in range(count)]
        monkeypatch.setattr(mistakes, "known", lambda topic, hidden, rows=rows: mistakes.table(rows))
        assert len(mistakes.recognised("softmax", "f", found, hidden=True)) == named


FEW = 3
"""Wrong versions of each topic whose rows are held against what grading gives, drawn anew in each run."""


@pytest.mark.slow
@pytest.mark.parametrize("topic", known_topics())
def test_the_tables_hold_what_wrong_versions_give(topic):
    """`make generate` makes the tables of topics that have changed."""
    wrong = [read_specimen(each) for each in find_specimens(SPECIMENS, [topic]) if not each.right]
    with one_thread():
        judged = [judge(each, [NOTEBOOK_SEED], Limits()) for each in random.sample(wrong, FEW) if each.exercise not in MEASURES]
    reviewed, _ = mistake_index.read_claims(topic)
    for judgement in judged:
        file = judgement.specimen.file
        assert all(file in reviewed.get(claim, []) for claim in mistake_index.claims(judgement.at_notebook_seed)), file
        for hidden in (False, True):
            found = mistakes.profile(verdict for verdict in judgement.at_notebook_seed if hidden or not verdict.hidden)
            rows = [row for row in mistakes.known(topic, hidden).get(judgement.specimen.exercise, []) if file in row["files"]]
            assert len(rows) == mistakes.tells(found), file
            for row in rows:
                assert row["checks"].keys() == found.keys(), file
                assert {name: seen[:2] for name, seen in row["checks"].items()} == {name: seen[:2] for name, seen in found.items()}, file
                # Another processor counts a few tokens more or fewer in a vocabulary of random logits, so not every check's values.
                assert any(mistakes.alike(row["checks"][name], found[name]) for name in found), file
                assert judgement.specimen.says in row["says"], file


@pytest.mark.parametrize("topic", known_topics())
def test_every_version_in_a_table_exists(topic):
    there = {each.file for each in find_specimens(SPECIMENS, [topic]) if not each.right}
    for hidden in (False, True):
        known = mistakes.known(topic, hidden).values()
        assert {file for rows in known for row in rows for file in row["files"]} <= there


def test_a_table_made_on_another_machine_changes_no_line_unless_something_else_changed():
    def table(shift, values):
        found = {"check": mistakes.what_was_seen("fail", "wrong values", torch.tensor(values, dtype=torch.float64) * (1 + shift))}
        return mistakes.table([("softmax", "wrong_a.py", "a mistake", found)])

    before = table(0, [0.25, 0.5])
    assert table(1e-7, [0.25, 0.5]) != before
    assert mistakes.unchanged(table(1e-7, [0.25, 0.5]), before) == before
    assert mistakes.unchanged(table(0, [0.25, 0.6]), before) != before


@pytest.mark.parametrize("topic", known_topics())
def test_every_claim_of_a_check_has_been_held_against_the_mistake(topic):
    _, unreviewed = mistake_index.read_claims(topic)
    assert not unreviewed


@pytest.mark.parametrize("topic", known_topics())
def test_no_answer_of_the_reference_is_in_the_tables(topic):
    """Only what failed checks saw is stored."""
    for hidden in (False, True):
        for known in mistakes.known(topic, hidden).values():
            for mistake in known:
                assert mistake["checks"]
                assert all(seen[0] != "pass" for seen in mistake["checks"].values())
    assert reference(topic)


@pytest.mark.parametrize("topic", known_topics())
def test_no_report_is_longer_than_a_person_reads(topic):
    """A random sequence is shown with only the calls that it takes to fail, and a long list is described."""
    said = {
        (check, seen[1]) for known in mistakes.known(topic, True).values() for mistake in known
        for check, seen in mistake["checks"].items() if seen[0] == "fail"
    }  # fmt: skip
    assert said
    assert not [check for check, what in said if what.count("; ") > 40 or len(what) > 1_000]


def test_a_check_sees_the_same_with_one_token_and_with_many():
    """Digits are ignored in a check's sentence, so nouns and verbs that agree with them are, too."""
    for one, many in (
        ("wrong values at index [0] (1 of 30 differs)", "wrong values at index [3] (12 of 30 differ)"),
        ("wrong keys for 1 token", "wrong keys for 5 tokens"),
        ("wrong nbytes for 1 row of 64 tokens", "wrong nbytes for 3 rows of 20 tokens"),
        ("wrong guess after the same token 1 time", "wrong guess after the same token 2 times"),
    ):
        assert mistakes.what_was_seen("fail", one, 1) == mistakes.what_was_seen("fail", many, 1)
    assert mistakes.what_was_seen("fail", "1 rowing boat", 1) != mistakes.what_was_seen("fail", "1 rows", 1)
