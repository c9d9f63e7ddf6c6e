"""A student's slips in a real kernel: cells that did not run, functions of another's, loops without an end."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from autograder.lessons import find_day, lesson
from autograder.notebook import workspace

from ..support.kernel import Kernel

pytestmark = pytest.mark.slow

RIGHT = "def softmax(logits):\n    return torch.softmax(logits, dim=-1)\n"
WRONG = "def softmax(logits):\n    return torch.softmax(logits, dim=0)\n"


@pytest.fixture(scope="module")
def day_1(tmp_path_factory) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path_factory.mktemp("day1"), find_day("softmax").slug)
    kernel.run("import torch\nfrom autograder.student import *")
    yield kernel
    kernel.close()


@pytest.fixture(scope="module")
def day_5(tmp_path_factory) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path_factory.mktemp("day5"), find_day("samplers").slug)
    kernel.run("import torch\nfrom autograder.student import *\nsoftmax = earlier('softmax').softmax")
    yield kernel
    kernel.close()


def test_how_long_it_takes_is_said_beforehand_and_gone_when_the_table_comes(day_1):
    day_1.run(RIGHT)
    output = day_1.run('check("softmax")')
    assert re.fullmatch(r"softmax: \d+ checks, (under a second|about \d+ s)\.", day_1.displays[0])
    assert len(day_1.displays) >= 2
    assert "under a second" not in output
    assert "about" not in output


def test_after_a_cell_that_did_not_run_nothing_is_checked(day_1):
    day_1.run(WRONG, "a")
    assert "Nothing was checked" not in day_1.run('check("softmax")')
    day_1.run("def softmax(logits:\n    return 1\n", "a")
    output = " ".join(day_1.run('check("softmax")').split())
    found = re.fullmatch(
        r"The cell of softmax failed when you last ran it: SyntaxError in line 1 ?\. Nothing was checked\. "
        r"Your last working version passed (\d+) of (\d+) checks\.", output,
    )  # fmt: skip
    assert found, output
    assert 0 < int(found[1]) < int(found[2])
    day_1.run("1 / 0\n" + RIGHT, "a")
    assert "ZeroDivisionError in line 1" in day_1.run('check("softmax")')
    day_1.run(RIGHT + "softmax(1)\n", "a")  # it ran as far as the function
    output = day_1.run('check("softmax")')
    assert "Nothing was checked" not in output
    assert "4 of 4 points" in output
    day_1.run(RIGHT, "a")  # another function, which was not checked before its cell broke
    day_1.run("def softmax(logits:\n    return 1\n", "a")
    assert day_1.run('check("softmax")').strip().endswith("Nothing was checked.")


def test_a_function_with_another_name_is_named_and_nothing_is_checked(day_1):
    day_1.run(RIGHT, "exercise-softmax")
    day_1.run(RIGHT.replace("softmax(logits):", "soft_max(logits):"), "exercise-softmax")
    output = " ".join(day_1.run('check("softmax")').split())
    assert "The cell of softmax no longer defines it. It defines soft_max ." in output
    assert "checks pass" not in output
    day_1.run(RIGHT, "another cell")
    assert "Nothing was checked" not in day_1.run('check("softmax")')


def test_what_was_never_defined_is_reported_why(day_1):
    day_1.run("def entropy(probs)\n    return 1\n")
    output = " ".join(day_1.run('check("entropy")').split())
    assert output.startswith("entropy: not defined. The cell of entropy failed when you last ran it: SyntaxError in line 1.")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("while True: pass", "does it end?"),
        ("return input('what?')", "which nobody answers while a check runs"),
        ("import sys; sys.exit(3)", "your code raised SystemExit: 3"),
        ("exit()", "your code raised SystemExit"),
        ("quit()", "End a function with"),
        ("return None", "None"),
        ("return logits.max(dim=-1)", "max"),
        ("return [1.0, 2.0]", "list"),
    ],
)
def test_every_slip_ends_in_a_table_that_tells_it_once(day_1, body, words):
    day_1.run(f"def softmax(logits):\n    {body}\n")
    output = day_1.run('check("softmax")')
    assert "checks pass" in output
    assert words in output
    assert "the same as at" in output or "the same mistake as at" in output
    assert "Traceback" not in output
    assert "runner.py" not in output
    assert "execute_request" not in output  # only lines of the student's own
    assert day_1.run("1 + 1").strip() == "2"  # and the kernel goes on


def test_other_parameters_are_reported_once_with_the_stubs_line(day_1):
    day_1.run("def softmax(logits, dim):\n    return torch.softmax(logits, dim)\n")
    output = day_1.run('check("softmax")')
    assert output.count("def softmax(logits: Tensor) -&gt; Tensor") == 1
    assert output.count("the same as at") > 5


def test_the_stop_button_ends_a_check_with_its_line_and_the_table(day_1):
    day_1.run("import time\ndef softmax(logits):\n    time.sleep(1000)\n")
    standing = workspace.standings(day_1.folder).get("softmax/softmax")
    start = time.monotonic()
    output = day_1.run('check("softmax")', stop_after=1.5)
    assert time.monotonic() - start < 12
    assert "stopped by you" in output
    assert "time.sleep(1000)" in output
    assert "not run: you stopped the checks" in output
    assert workspace.standings(day_1.folder).get("softmax/softmax") == standing
    assert day_1.run("1 + 1").strip() == "2"


def test_nobody_is_credited_with_the_courses_function(day_5):
    output = day_5.run('check("softmax")')
    assert "this function is the course's own" in output.replace("&#x27;", "'")
    assert "checks pass" not in output
    assert "waits for softmax" in day_5.run('if_solved("softmax")')
    day_5.run("from solutions.samplers import greedy_sample")
    assert "checks pass" not in day_5.run("check(greedy_sample)")
    assert workspace.standings(day_5.folder) == {}


def test_what_is_checked_in_another_days_notebook_is_not_noted(day_5):
    day_5.run(RIGHT)
    assert "4 of 4 points" in day_5.run("check(softmax)")
    assert workspace.standings(day_5.folder) == {}
    day_5.run("from autograder.student import earlier\nsoftmax = earlier('softmax').softmax")


def test_a_call_without_a_name_checks_the_whole_day(day_5):
    output = day_5.run("check()")
    for exercise in lesson(find_day("samplers")).exercises:
        assert exercise.name in output


def test_names_that_do_not_exist_get_one_line(day_5):
    assert "did you mean" in day_5.run('check("greedy_sampl")')
    nothing_like_it = day_5.run('check("xyzzy")')
    assert "Day 5 has greedy_sample" in nothing_like_it
    assert "render_chat" not in nothing_like_it
    assert "there is no exercise" in day_5.run("check(print)")
    output = day_5.run('earlier("foo").softmax')
    assert output.startswith("no topic")
    assert "Traceback" not in output
    assert day_5.run('earlier("softmax")').splitlines()[-1] == "the course's functions of Day 1 (Softmax)"
