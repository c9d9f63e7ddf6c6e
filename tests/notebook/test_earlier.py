"""`earlier`: each function of a student's that passes is theirs, any other is the course's, and a line says why."""

import shutil
import time
from pathlib import Path

import nbformat
import pytest
import torch

from autograder.base.errors import CourseError
from autograder.checking.runner import reference, run_check, select
from autograder.lessons import find_day, lesson, solved_notebook, syllabus
from autograder.notebook import earlier, workspace
from autograder.notebook.checking import as_in_grading
from autograder.notebook.definitions import Definitions
from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.submission import Cell

STUB = "def {0}(*args):\n    raise NotImplementedError('{0}')\n"
WRONG = "def softmax(logits):\n    return torch.softmax(logits, dim=0)\n"
USES_SOFTMAX = "def log_softmax(logits):\n    softmax(logits)\n    return torch.log_softmax(logits, -1)\n"


@pytest.fixture
def work(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("COURSE_WORK", str(folder))
    return folder


def write(folder: Path, topic: str, changed: dict[str, str] | None = None, more: tuple[str, ...] = ()) -> Path:
    """Write a solved notebook with some exercises' cells changed, and more code cells at its end."""
    day, solved = find_day(topic), solved_notebook(find_day(topic))
    for cell in solved.cells:
        course = cell.metadata.get("course", {})
        if course.get("role") == "exercise" and course.get("exercise") in (changed or {}):
            cell.source = (changed or {})[course["exercise"]]
    solved.cells += [nbformat.v4.new_code_cell(source) for source in more]
    path = folder / day.slug / f"{day.slug}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(solved, path)
    return path


def own(topic: str) -> tuple[str, ...]:
    return earlier.functions_of(find_day(topic)).own


def line(topic: str) -> str:
    return earlier.earlier_module(topic)[1]


def why(topic: str) -> dict[str, str]:
    return earlier.functions_of(find_day(topic)).why


def without(topic: str, *names: str) -> dict[str, str]:
    return {name: STUB.format(name) for name in (each.name for each in lesson(find_day(topic)).exercises) if name not in names}


def assert_the_rule_holds(topic: str) -> None:
    """Run all the checks in the module, as a later day gets it."""
    module = earlier.functions_of(find_day(topic)).module
    functions = {each.name: getattr(module, each.name) for each in lesson(find_day(topic)).exercises}
    space = next((f.__globals__ for f in functions.values() if f.__module__.startswith(earlier.OWN) and hasattr(f, "__globals__")), {})
    student = LocalStudent({**vars(module), **space, **functions})
    with as_in_grading():
        failed = [c.name for c in select(topic, hidden=False, timing=False) if run_check(topic, c, student).failed]
    assert failed == []


# The rule


def test_a_line_names_which_are_whose_and_why(work):
    write(work, "samplers", {"top_p_probs": "def top_p_probs(logits, p):\n    return softmax(logits)\n", "draw": STUB.format("draw")})
    text = line("samplers")
    assert text.startswith("Day 5 (Samplers): yours: greedy_sample, temperature_probs, top_k_probs, temperature_sample, ")
    assert "; the course's: draw (not written yet), top_p_probs (fails “" in text
    assert_the_rule_holds("samplers")


def test_nothing_need_be_checked_before(work):
    write(work, "softmax")
    assert line("softmax") == "Day 1 (Softmax): using your own functions."
    assert workspace.standings(work) == {}


def test_a_helper_that_fails_is_the_courses_for_the_function_that_uses_it(work):
    write(work, "softmax", {"softmax": WRONG, "log_softmax": USES_SOFTMAX})
    module, found = earlier.own_functions(find_day("softmax"))
    assert found == ["log_softmax", "entropy"]
    assert module.log_softmax.__globals__["softmax"] is reference("softmax").softmax
    assert module.softmax is reference("softmax").softmax
    assert_the_rule_holds("softmax")


def test_a_helper_that_passes_is_the_students_for_the_function_that_uses_it(work):
    write(work, "softmax", {"log_softmax": USES_SOFTMAX})
    module, found = earlier.own_functions(find_day("softmax"))
    assert found == ["softmax", "log_softmax", "entropy"]
    assert module.log_softmax.__globals__["softmax"] is module.softmax
    assert module.softmax.__module__ == "earlier_softmax"


def test_a_function_that_passes_only_with_the_others_mistake_is_not_taken(work):
    doubled = "def softmax(logits):\n    return 2 * torch.softmax(logits, -1)\n"
    halves = "def log_softmax(logits):\n    return torch.log(softmax(logits) / 2).clamp(min=-1e30) + 0 * torch.log_softmax(logits, -1)\n"
    right_with_it = "def log_softmax(logits):\n    off = torch.log(softmax(logits).sum(-1, keepdim=True) / 2)\n"
    right_with_it += "    return torch.log_softmax(logits, -1) + off\n"
    for uses in (halves, right_with_it):
        write(work, "softmax", {"softmax": doubled, "log_softmax": uses})
        assert own("softmax") == ("entropy",), why("softmax")
        assert_the_rule_holds("softmax")


def test_two_that_call_each_other_are_decided_and_the_rule_holds(work):
    ping = "def softmax(logits, again=True):\n    return log_softmax(logits, False).exp() if again else torch.softmax(logits, -1)\n"
    pong = "def log_softmax(logits, again=True):\n    return softmax(logits, False).log() if again else torch.log_softmax(logits, -1)\n"
    write(work, "softmax", {"softmax": ping, "log_softmax": pong})
    found = own("softmax")
    assert "entropy" in found
    assert {"softmax", "log_softmax"} - set(found)  # with the course's other one, which has no `again`, it does not run
    assert_the_rule_holds("softmax")


# Classes


def test_the_courses_functions_make_objects_of_the_students_class(work):
    path = write(work, "latency", without("latency", "Trace", "summarize"))
    trace = next(cell.source for cell in nbformat.read(path, 4).cells if "class Trace" in cell.source and "@dataclass" in cell.source)
    more = trace.rstrip() + "\n\n    def gaps(self):\n        return self.itl\n"
    write(work, "latency", {**without("latency", "Trace", "summarize"), "Trace": more})
    module = earlier.functions_of(find_day("latency")).module
    assert own("latency") == ("Trace", "summarize")
    made = module.record(iter([1, 2]), lambda: 0.0)
    made = made[0] if isinstance(made, tuple) else made
    assert "earlier_latency" in {type(each).__module__ for each in (made if isinstance(made, list) else [made])}
    assert module.record.__module__ == "solutions.latency"


def test_a_class_with_which_the_courses_functions_fail_is_not_taken(work, monkeypatch):
    write(work, "kv_cache", without("kv_cache", "KVCache"))
    day = find_day("kv_cache")
    assert own("kv_cache") == ("KVCache",)
    module = earlier.functions_of(day).module
    assert module.prefill.__globals__["KVCache"] is module.KVCache
    assert module.KVCache.__module__ == "earlier_kv_cache"
    assert module.CacheFull is module.KVCache.append.__globals__["CacheFull"] is reference("kv_cache").CacheFull  # the setup's
    stock = earlier.Notebook._checked

    def fails(self, name, made):
        other = made.own.KVCache is not self.course.KVCache
        return ("fails “a check”", True) if name == "prefill" and other else stock(self, name, made)

    monkeypatch.setattr(earlier.Notebook, "_checked", fails)
    earlier._found.clear()
    (work / workspace.PROGRESS).unlink()
    assert own("kv_cache") == ()
    assert why("kv_cache")["KVCache"] == "the course's prefill does not work with it"


def test_a_wrong_class_is_the_courses_for_the_functions_that_use_it(work):
    broken = "class KVCache:\n    def __init__(self, *args, **kwargs):\n        self.length = 0\n"
    write(work, "kv_cache", {**without("kv_cache", "KVCache", "forward_cached", "prefill"), "KVCache": broken})
    found = earlier.functions_of(find_day("kv_cache"))
    assert found.own == ("forward_cached", "prefill")
    assert found.why["KVCache"].startswith("fails “")
    assert found.module.prefill.__globals__["KVCache"] is reference("kv_cache").KVCache


# Notebooks of all kinds


def test_the_last_of_two_definitions_counts(work):
    right = "def softmax(logits):\n    e = (logits - logits.amax(-1, keepdim=True)).exp()\n    return e / e.sum(-1, keepdim=True)\n"
    write(work, "softmax", {"softmax": WRONG}, (right,))
    assert "softmax" in own("softmax")
    write(work, "softmax", {"softmax": right}, (WRONG,))
    assert why("softmax")["softmax"].startswith("fails “")
    write(work, "softmax", {"softmax": right}, ("def softmax(logits:\n",))
    assert "softmax" in own("softmax")  # that cell defines nothing


def test_of_the_other_cells_only_needed_definitions_run(work):
    uses = "def softmax(logits):\n    return np_like(logits) / TOTAL\n"
    more = (
        "import math\nTOTAL = math.sqrt(1.0)\ndef np_like(x):\n    return torch.softmax(x, -1)\n",
        "check(softmax)\nprint('noise')\nraise SystemExit(3)",
        "while True:\n    pass\n",
        "model = open('/nowhere/at/all')\n",
        "%matplotlib inline\nunused = 1 / 0\n",
    )
    write(work, "softmax", {"softmax": uses}, more)
    assert own("softmax") == ("softmax", "log_softmax", "entropy")


def test_a_syntax_error_or_a_cell_that_raises_costs_its_own_function_only(work):
    write(work, "softmax", {"softmax": "def softmax(logits:\n    pass\n", "entropy": "@missing\ndef entropy(p):\n    return p\n"})
    assert own("softmax") == ("log_softmax",)
    assert why("softmax") == {
        "softmax": "its cell does not run: SyntaxError in line 1", "entropy": "its cell does not run: NameError",
    }  # fmt: skip


@pytest.mark.parametrize(
    "broken",
    [
        "def softmax(logits):\n    while True:\n        pass\n",
        "def spin():\n    while True:\n        pass\nTABLE = spin()\ndef softmax(logits):\n    return TABLE\n",
        "def softmax(logits):\n    raise SystemExit\n",
        "import sys\ndef softmax(logits):\n    sys.exit(3)\n",
        "def softmax(logits):\n    return input('and?')\n",
        "import no_such_module_at_all\ndef softmax(logits):\n    return no_such_module_at_all.softmax(logits)\n",
        "softmax = 3\n",
    ],
    ids=["endless", "endless value", "SystemExit", "sys.exit", "input", "import", "number"],
)
def test_a_broken_function_never_raises_and_takes_no_other_with_it(work, broken):
    write(work, "softmax", {"softmax": broken})
    start = time.monotonic()
    assert own("softmax") == ("log_softmax", "entropy"), why("softmax")
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("content", ["", "{", '{"cells": 3}', "[]", '{"cells": [{"cell_type": "code", "source": 3}, 4]}'])
def test_a_torn_notebook_is_said_and_the_courses_functions_come(work, content):
    path = write(work, "softmax")
    path.write_text(content)
    module, said = earlier.earlier_module("softmax")
    assert module is reference("softmax")
    assert said.startswith("Day 1 (Softmax): using the course's functions; ")
    assert own("softmax") == ()


def test_a_notebook_that_asks_for_its_own_day_gets_the_courses(work):
    write(work, "softmax", {"softmax": "other = earlier('softmax').softmax\ndef softmax(logits):\n    return other(logits)\n"},
          ("from autograder.student import earlier",))  # fmt: skip
    assert "log_softmax" in own("softmax")


def test_state_of_the_checks_is_not_in_what_is_handed_out(work):
    counts = "calls = []\ndef softmax(logits):\n    calls.append(1)\n    return torch.softmax(logits, -1)\n"
    write(work, "softmax", {"softmax": counts})
    module = earlier.functions_of(find_day("softmax")).module
    assert module.softmax.__globals__["calls"] == []
    module.softmax(torch.zeros(2))
    assert earlier.functions_of(find_day("softmax")).module is module  # one module in one kernel
    assert len(module.softmax.__globals__["calls"]) == 1


def test_an_earlier_days_own_functions_are_in_the_next_days_and_a_change_there_is_seen(work):
    write(work, "softmax")
    write(work, "samplers")
    module = earlier.functions_of(find_day("samplers")).module
    assert module.temperature_probs.__globals__["softmax"].__module__ == "earlier_softmax"
    write(work, "softmax", {"softmax": WRONG})
    module = earlier.functions_of(find_day("samplers")).module
    assert module.temperature_probs.__globals__["softmax"].__module__ == "solutions.softmax"


def test_random_state_and_gradients_are_as_before(work):
    write(work, "samplers")
    before = torch.get_rng_state()
    with torch.no_grad():
        earlier.functions_of(find_day("samplers"))
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), before)


# How often


def test_only_what_has_changed_is_checked_again(work, monkeypatch):
    asked = []
    stock = earlier.Notebook._checked

    def counted(self, name, made):
        asked.append(name)
        return stock(self, name, made)

    monkeypatch.setattr(earlier.Notebook, "_checked", counted)
    write(work, "softmax")
    own("softmax")
    assert set(asked) == {"entropy", "log_softmax", "softmax"}
    asked.clear()
    own("softmax")
    earlier._found.clear()  # another kernel
    own("softmax")
    path = write(work, "softmax", more=("print('an experiment')",))
    own("softmax")
    assert asked == []
    write(work, "softmax", {"entropy": "def entropy(probs):\n    return probs.sum(-1)\n"})
    assert own("softmax") == ("softmax", "log_softmax")
    assert "softmax" not in asked
    (work / workspace.PROGRESS).write_text('{"earlier": {"softmax": [1]}}')
    earlier._found.clear()
    assert own("softmax") == ("softmax", "log_softmax")
    shutil.rmtree(path.parent)
    assert line("softmax") == "Day 1 (Softmax): using the course's functions; yours replace them once their checks pass."


def test_an_unknown_topic_is_refused(work):
    with pytest.raises(CourseError, match="no topic 'foo': choose one of"):
        earlier.earlier_module("foo")


def test_a_stub_is_known_without_running_it():
    sources = STUB.format("a"), 'def b():\n    """Text."""\n    raise NotImplementedError\n', "def c(): return 1"
    found = Definitions("", [Cell("", source) for source in sources], ["a", "b", "c"])
    assert [found.is_stub(name) for name in "abc"] == [True, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("day", [day for day in syllabus() if day.ready], ids=lambda day: day.slug)
def test_a_solved_day_is_the_students_as_a_whole(work, day):
    write(work, day.topic)
    assert line(day.topic) == f"Day {day.number} ({day.title}): using your own functions."


@pytest.mark.slow
@pytest.mark.parametrize("day", [day for day in syllabus() if day.ready], ids=lambda day: day.slug)
def test_the_exercises_that_checks_look_up_are_among_those_a_verdict_depends_on(day):
    """Otherwise a cached verdict would outlive a change."""

    class Recording(dict):
        def get(self, name, *default):
            asked.add(name)
            return super().get(name, *default)

    names = {exercise.name for exercise in lesson(day).exercises}
    for exercise in names:
        asked: set[str] = set()
        student = LocalStudent(Recording(vars(reference(day.topic))))
        with as_in_grading():
            for check in select(day.topic, exercise=exercise, hidden=False, timing=False):
                run_check(day.topic, check, student)
        assert asked & names <= earlier.checks_use(day.topic, exercise), exercise
