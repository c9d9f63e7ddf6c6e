"""Causes that an exception proves: each from the exception that Python or torch raises, and none where a neighbour would be wrong."""

from __future__ import annotations

import re
import sys
import textwrap

import pytest
import torch

import solutions.steering
from autograder.base.verdicts import Verdict
from autograder.checking.checks.test_steering import WITHOUT_STOPS
from autograder.checking.exception_causes import cause_of
from autograder.checking.runner import run_checks, select
from autograder.sandbox.process.local import LocalStudent


def recurse() -> None:
    recurse()


def undefined() -> None:
    never_defined  # noqa: B018, F821


RAISED = {
    "name": (undefined, "spell the name as in the stub"),
    "exit": (lambda: sys.exit(3), "ends the whole program"),
    "recursion": (recurse, "calls itself too deeply"),
    "operator": (lambda: torch.ones(2, 2) - torch.ones(2, 2).max(dim=1), "`max` along a dimension returns values and indices together"),
    "argument": (lambda: torch.exp(torch.ones(2, 2).min(dim=1)), "`min` along a dimension returns values and indices together"),
    "attribute": (lambda: torch.ones(2, 2).sort(dim=1).float(), "`sort` along a dimension returns values and indices together"),
    "shapes": (lambda: torch.ones(2, 3) + torch.ones(2, 4), "in dimension 1 one has 3 and the other 4"),
    "transposed": (lambda: torch.ones(2, 3) @ torch.ones(4, 3), "With the second matrix transposed they agree: 2x3 times 3x4"),
    "product": (lambda: torch.ones(2, 3) @ torch.ones(4, 5), "In a matrix product the inner sizes must agree, and 3 is not 4"),
}


@pytest.mark.parametrize("case", RAISED)
def test_an_exception_that_is_raised_has_its_cause(case):
    call, words = RAISED[case]
    with pytest.raises((Exception, SystemExit), match=r".") as raised:
        call()
    cause = cause_of(raised.type.__name__, str(raised.value))
    assert words in (cause or ""), (raised.value, cause)
    assert case != "product" or "transposed" not in (cause or "")


def test_an_index_outside_of_a_tensor_on_a_gpu_is_named_with_the_remedy():
    """The message is torch's for CUDA; on a processor the same mistake is an IndexError without a remedy to add."""
    message = (
        "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be incorrect."
    )
    cause = cause_of("AcceleratorError", message) or ""
    assert "An index was outside of a tensor on the GPU, here or in an earlier call." in cause
    assert "restart the kernel" in cause
    with pytest.raises(IndexError) as raised:
        torch.ones(3)[torch.tensor([7])]
    assert cause_of("IndexError", str(raised.value)) is None
    assert cause_of("RuntimeError", "CUDA error: out of memory") is None


def test_a_lost_dimension_is_named_only_where_the_line_shows_it():
    with pytest.raises(RuntimeError) as raised:
        torch.ones(3, 4) / torch.ones(3, 4).sum(dim=-1)
    message = str(raised.value)
    assert "with `keepdim=True` it stays" in (cause_of("RuntimeError", message, ["return x / x.sum(dim=-1)"]) or "")
    for line in ("return x / x.sum(dim=-1, keepdim=True)", "return x / total"):
        assert re.fullmatch(r"Two shapes do not match: .*\.", cause_of("RuntimeError", message, [line]) or "")


def failure_without_stops(source: str) -> Verdict:
    """Return the failed verdict of the check that ends with an empty list of stops, for a version of Day 6's class."""
    namespace = dict(vars(solutions.steering))
    exec(textwrap.dedent(source), namespace)
    [check] = [check for check in select("steering", exercise="StopStrings") if check.name == "test_stop_inside_one_piece"]
    [verdict] = run_checks("steering", [check], LocalStudent(namespace), name_mistakes=False)
    assert verdict.failed
    return verdict


VERSION = """
    class Version(StopStrings):
        def __init__(self, stops):
            INIT
            super().__init__(stops)

        def push(self, text):
            PUSH
            return super().push(text)

    StopStrings = Version
"""


def version(init: str = "pass", push: str = "pass") -> str:
    return VERSION.replace("INIT", init).replace("PUSH", push)


def test_an_empty_list_of_stops_is_named_where_it_alone_is_the_cause():
    raised = failure_without_stops(version(push="self.most = max(len(stop) for stop in self.stops)"))
    assert (raised.outcome, raised.seen[1], raised.cause, raised.claimed) == ("error", "ValueError", WITHOUT_STOPS, True)
    wrong = failure_without_stops(version(push="text = text if self.stops else text[1:]"))
    assert (wrong.outcome, wrong.cause, wrong.claimed) == ("fail", WITHOUT_STOPS, True)
    assert wrong.expected == "('no stop', False)"
    refused = failure_without_stops(version(init="self.first = stops[0]"))
    assert (refused.outcome, refused.seen[1], refused.cause) == ("error", "IndexError", WITHOUT_STOPS)


def test_an_empty_list_of_stops_is_not_named_where_any_text_without_a_stop_is_wrong():
    raised = failure_without_stops(version(push="text[7 * (text == ' at all')]"))
    assert (raised.outcome, raised.seen[1]) == ("error", "IndexError")
    assert raised.cause != WITHOUT_STOPS
    wrong = failure_without_stops(version(push="text = text.removeprefix(' at')"))
    assert (wrong.outcome, wrong.cause) == ("fail", None)
