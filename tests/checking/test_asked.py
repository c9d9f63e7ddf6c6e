"""The rules of the exercises: each is in the docstring's words, broken by a version that exists, and asked by checks."""

import re

import pytest

from autograder.base.course_table import known_topics
from autograder.base.errors import CourseError
from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.base.verdicts import PASS
from autograder.checking import asked
from autograder.checking.runner import load_checks, reference, run_checks
from autograder.sandbox.process.local import LocalStudent

each_topic = pytest.mark.parametrize("topic", known_topics())


@each_topic
def test_every_exercise_has_rules_and_every_rule_is_asked(topic):
    exercises = list(dict.fromkeys(check.exercise for check in load_checks(topic)))
    found = asked.rules(topic)
    assert list(dict.fromkeys(rule.exercise for rule in found)) == exercises
    there = {each.file for each in find_specimens(SPECIMENS, [topic]) if not each.right}
    for rule in found:
        assert set(rule.broken_by) <= there, rule.says
        assert (bool(rule.visible), bool(rule.hidden)) == (rule.lacks != "visible", rule.lacks != "hidden"), rule.says
        assert rule.visible or rule.hidden, rule.says


@each_topic
def test_every_visible_check_asks_a_rule(topic):
    named = {check.name for rule in asked.rules(topic) for check in rule.visible}
    assert [check.name for check in load_checks(topic) if not check.hidden and check.name not in named] == []


@each_topic
def test_no_check_passes_where_nothing_is_written(topic):
    verdicts = run_checks(topic, load_checks(topic), LocalStudent({}))
    assert [verdict.check for verdict in verdicts if verdict.outcome == PASS] == []


def test_no_hidden_check_has_the_name_of_a_visible_one():
    """Bundle and wheel are searched for hidden checks by their names."""
    named = [(check.name, check.hidden) for topic in known_topics() for check in load_checks(topic)]
    assert {name for name, hidden in named if hidden} & {name for name, hidden in named if not hidden} == set()


@each_topic
def test_every_exception_of_a_docstring_has_a_rule(topic):
    for exercise in dict.fromkeys(check.exercise for check in load_checks(topic)):
        named = set(re.findall(r"\b[Rr]aises (\w+)", getattr(reference(topic), exercise).__doc__ or ""))
        of_rules = " ".join(rule.says for rule in asked.rules(topic) if rule.exercise == exercise and rule.kind == "raises")
        assert {name for name in named if name not in of_rules} == set(), exercise


@each_topic
def test_a_rule_says_one_thing_in_one_sentence(topic):
    for rule in asked.rules(topic):
        assert rule.says[0].isupper() or not rule.says[0].isalpha(), rule.says
        assert rule.says.endswith("."), rule.says
        assert len(rule.says) <= 160, rule.says
    assert len({(rule.exercise, rule.says) for rule in asked.rules(topic)}) == len(asked.rules(topic))


ENTRY = {"rule": "The sum is 1.", "kind": "value", "broken_by": ["wrong_a.py", "wrong_b.py"]}
FAILED = {"wrong_a.py": {"test_softmax_by_hand", "test_softmax_masked"}, "wrong_b.py": {"test_softmax_masked", "test_softmax_random_ranks"}}


def read(entry, exercise="softmax"):
    return asked._rule("rules.toml", exercise, entry, {check.name: check for check in load_checks("softmax")}, FAILED)


def test_the_checks_of_a_rule_are_those_that_all_of_its_versions_fail():
    rule = read({**ENTRY, "lacks": "hidden"})
    assert ([check.name for check in rule.visible], rule.hidden, rule.lacks) == (["test_softmax_masked"], (), "hidden")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "lacks must be 'hidden'"), ({"lacks": "visible"}, "lacks must be 'hidden'"), ({"kind": "taste"}, "kind must be one of"),
        ({"broken_by": []}, "at least one"), ({"broken_by": ["wrong_c.py"]}, "do not have wrong_c.py"), ({"rule": 3}, "an entry needs"),
        ({"more": 1}, "an entry needs"), ({"checks": ["test_none"]}, "no such check: test_none"),
        ({"checks": ["test_entropy_extremes"]}, "checks another exercise"),
    ],
)  # fmt: skip
def test_what_is_not_an_entry_is_refused_with_its_rule(change, words):
    with pytest.raises(CourseError, match=words):
        read({**ENTRY, **change})
