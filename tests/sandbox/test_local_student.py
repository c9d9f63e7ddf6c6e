"""A notebook's check and grading give the same verdicts: the student's functions in this process, and in a worker."""

from __future__ import annotations

import contextlib
import hashlib
import linecache
import math
import re
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from autograder.base.course_table import earlier_sources, known_topics, solution_source
from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.base.verdicts import Verdict
from autograder.certification.certify import Specimen, read_specimen, specimen_named
from autograder.checking.runner import run_checks, select
from autograder.sandbox.confine import timeout
from autograder.sandbox.confine.limits import Limits
from autograder.sandbox.process import local
from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from autograder.sandbox.protocol.worker_errors import WorkerDied
from course.kit.threads import one_thread

from ..conftest import collect_garbage

QUICK_TOPIC = "softmax"
SO_MANY = 8
"""Number of wrong versions of each other topic that are judged both ways, chosen by their names' checksums."""

PATIENT = Limits(call_seconds=15.0)
MEASURES = ("measure_machine", "record")
"""Exercises that look at a clock: what they got differs from one run to the next."""


def cell(name: str, source: str, namespace: dict[str, Any]) -> None:
    """Runs a cell as a notebook does, so that its lines can be shown."""
    file = f"<cell {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), namespace)


def judged_locally(specimen: Specimen, limits: Limits | None = None) -> list[Verdict]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cell("reference", solution_source(specimen.topic), namespace)
    cell(specimen.file, specimen.source, namespace)
    return run_checks(specimen.topic, visible(specimen), LocalStudent(namespace, limits=limits))


def judged_remotely(specimen: Specimen, limits: Limits | None = None) -> list[Verdict]:
    cells = [Cell("reference", solution_source(specimen.topic)), Cell(specimen.file, specimen.source)]
    remote = RemoteStudent(specimen.topic, cells, earlier_sources(specimen.topic), limits=limits)
    try:
        return run_checks(specimen.topic, visible(specimen), remote)
    finally:
        remote.close()


def visible(specimen: Specimen) -> list[Any]:
    return select(specimen.topic, exercise=specimen.exercise, hidden=False, timing=False)


def report_of(verdict: Verdict) -> tuple[Any, ...]:
    if verdict.outcome == "skipped":  # a check of a GPU: here there is none, in grading there never is one
        return verdict.check, verdict.outcome
    values = () if verdict.exercise in MEASURES else (verdict.expected, verdict.got)
    return verdict.check, verdict.outcome, verdict.message, verdict.cause, verdict.lines, *values


def wrong(topics: list[str]) -> Iterator[Specimen]:
    for listed in find_specimens(SPECIMENS, topics):
        if not listed.right:
            yield read_specimen(listed)


def judged_otherwise(specimens: list[Specimen]) -> list[str]:
    """What the two ways tell differently. What differs is judged again with more time: a version may be near the limit."""
    with one_thread():
        doubtful = []
        for number, specimen in enumerate(specimens):
            if differences(specimen, None):
                doubtful.append(specimen)
            if number % 8 == 0:  # versions that run in this process leave caches and tracebacks; a collection takes 0.1 s or more
                collect_garbage()
        return [line for specimen in doubtful for line in differences(specimen, PATIENT)]


def differences(specimen: Specimen, limits: Limits | None) -> list[str]:
    pairs = zip(judged_locally(specimen, limits), judged_remotely(specimen, limits), strict=True)
    return [
        f"{specimen.topic}/{specimen.file}\n   local  {report_of(here)}\n   remote {report_of(there)}"
        for here, there in pairs
        if not alike(report_of(here), report_of(there))
    ]


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def alike(here: tuple[Any, ...], there: tuple[Any, ...]) -> bool:
    """Word for word the same, and number for number but for the last digit that is shown: two processes may round it differently."""
    texts = [(str(a), str(b)) for a, b in zip(here, there, strict=True)]
    numbers = [(float(a), float(b)) for pair in texts for a, b in zip(*map(NUMBER.findall, pair), strict=False)]
    same_words = all(NUMBER.sub("#", a) == NUMBER.sub("#", b) for a, b in texts)
    return same_words and all(math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6) or a == b for a, b in numbers)


def test_the_last_digit_may_differ_and_nothing_else():
    one = ("test_x", "fail", "wrong values at [0, 2]", None, None, "1.5", "-9.7279")
    assert alike(one, (*one[:-1], "-9.7280"))
    for place, text in ((6, "-9.7379"), (6, "9.7279"), (6, "nan"), (2, "wrong values at [0, 3]"), (3, "a cause")):
        other = (*one[:place], text, *one[place + 1 :])
        assert not alike(one, other)


TOLD_APART = {
    "wrong_ring_reduce_scatter_kept.py": "what one rank remembers, all do where they share a memory, as in a notebook",
    "wrong_engine_spins.py": "a scenario that is stopped names the student's line in a notebook only",
}
"""Wrong versions that a notebook and grading tell differently, and why."""


def compared(topic: str) -> list[Specimen]:
    every = [s for s in wrong([topic]) if s.file not in TOLD_APART]
    return every if topic == QUICK_TOPIC else sorted(every, key=lambda s: hashlib.sha256(s.file.encode()).digest())[:SO_MANY]


def test_all_wrong_versions_of_a_day_get_the_same_report_in_a_notebook_and_in_grading():
    specimens = compared(QUICK_TOPIC)
    assert len(specimens) > 100
    assert judged_otherwise(specimens) == []


@pytest.mark.slow
@pytest.mark.parametrize("topic", [topic for topic in known_topics() if topic != QUICK_TOPIC])
def test_wrong_versions_of_every_day_get_the_same_report_in_a_notebook_and_in_grading(topic):
    specimens = compared(topic)
    assert len(specimens) == SO_MANY
    assert judged_otherwise(specimens) == []


# What a function does to what it is given


RENDER_CHAT = "wrong_render_chat_mutates.py", "wrong_render_chat_no_default.py"


def test_a_version_that_spoils_its_argument_spoils_no_later_check():
    """It inserted into the checks' own messages: from then on it passed, and so did one without any default."""
    specimens = [specimen_named(file, "tokenizer") for file in RENDER_CHAT]
    first = [list(map(report_of, judged_locally(specimen))) for specimen in specimens]
    again = [list(map(report_of, judged_locally(specimen))) for specimen in specimens]
    assert first == again
    assert all(any(outcome == "fail" for _, outcome, *_ in each) for each in first)


def test_results_and_arguments_are_copies():
    held: list[torch.Tensor] = []
    student = LocalStudent({"keep": lambda x: held.append(x) or x, "spoil": lambda: held[0].zero_(), "rows": lambda rows: rows.append(1)})
    x = torch.ones(3)
    got = student.keep(x)
    student.spoil()
    assert x.tolist() == got.tolist() == [1.0, 1.0, 1.0]
    rows: list[int] = []
    student.rows(rows)
    assert rows == []


def test_a_named_model_is_whole_again_for_the_next_check_and_counts_as_named():
    def spoil(model):
        model.weights.embed_tokens.zero_()
        model.config = None

    def total(model):
        return float(model.weights.embed_tokens.abs().sum()) + model.config.vocab_size

    def read(model):
        return model.weights.embed_tokens[torch.arange(7)]

    names = {"spoil": spoil, "total": total, "read": read}
    before = LocalStudent(names).total(LocalStudent(names).model("tiny"))
    student = LocalStudent(names)
    student.spoil(student.model("tiny"))
    student = LocalStudent(names)
    assert student.total(student.model("tiny")) == before
    with student.counting() as work:
        student.read(student.model("tiny"))
    assert work.positions == 7


def test_a_tokenizers_tables_are_copies():
    student = LocalStudent({"spoil": lambda tokenizer: tokenizer.vocab.clear() or len(tokenizer.vocab), "size": lambda t: len(t.vocab)})
    assert student.spoil(student.tokenizer("tiny")) == 0
    again = LocalStudent({"size": lambda tokenizer: len(tokenizer.vocab)})
    assert again.size(again.tokenizer("tiny")) > 0


def test_what_the_notebook_set_for_all_of_torch_is_the_functions_and_not_the_checks():
    names = {"is_on": torch.is_grad_enabled, "draw": lambda: torch.rand(1)}
    with torch.no_grad():  # a cell of the notebook may have switched gradients off
        student = LocalStudent(names)
    state = torch.get_rng_state()
    assert torch.is_grad_enabled()
    assert student.is_on() is False
    assert student.draw() != student.draw()
    assert torch.equal(state, torch.get_rng_state())
    assert LocalStudent({"draw": lambda: torch.rand(1)}).draw() == LocalStudent({"draw": lambda: torch.rand(1)}).draw()


def test_what_the_checks_own_functions_do_is_not_counted():
    student = LocalStudent({"f": lambda model, x: model(x) @ x})
    x = torch.ones(4, 4)
    with student.counting() as work:
        student.f(lambda y: y @ y @ y, x)
    assert work.flops == 2 * 4**3


def test_a_function_that_is_defined_anew_is_seen():
    namespace = {"f": lambda: 1}
    student = LocalStudent(namespace)
    assert student.f() == 1
    namespace["f"] = lambda: 2
    assert student.f() == 2


# What does not end

SWALLOWS = """
import time
def inner():
    while True:
        try:
            time.sleep(0.001)
        except:
            pass
def f():
    while True:
        try:
            inner()
        except:
            pass
"""


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def f():\n    while True:\n        pass\n", "f, line 2: while True:"),
        ("import time\ndef f():\n    time.sleep(1e9)\n", "f, line 3: time.sleep(1e9)"),
        ("import threading\ndef f():\n    threading.Event().wait()\n", "f, line 3: threading.Event().wait()"),
        (SWALLOWS, "inner, line 6: time.sleep(0.001)"),
    ],
)
def test_what_does_not_end_is_stopped_with_its_line_and_waited_for_once(source, line):
    namespace: dict[str, Any] = {}
    cell("f", source, namespace)
    handler, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    student = LocalStudent(namespace, limits=Limits(call_seconds=0.3))
    start = time.monotonic()
    for _ in range(3):
        with pytest.raises(WorkerDied, match=r"stopped after 0\.3 s") as died:
            student.f()
        assert died.value.outcome == "timeout"
        assert died.value.lines[-1] == line
    assert time.monotonic() - start < 3 * 0.3 * 4
    assert signal.getsignal(signal.SIGALRM) == handler
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) == (timer[0] > 0)


def test_the_time_of_the_checks_own_functions_is_not_the_students():
    def slow():
        time.sleep(1.5)
        return 1

    assert LocalStudent({"f": lambda model: model()}, limits=Limits(call_seconds=0.3)).f(slow) == 1


def test_a_loop_that_calls_a_given_function_is_stopped(monkeypatch):
    monkeypatch.setattr(local, "MAX_CALLBACKS", 1000)

    def f(model):
        while True:
            with contextlib.suppress(BaseException):
                model()

    with pytest.raises(WorkerDied, match="calls of the function passed by the check"):
        LocalStudent({"f": f}).f(lambda: 1)


def test_outside_the_main_thread_it_is_said_how_to_stop(monkeypatch):
    monkeypatch.setattr(timeout, "SAY_SECONDS", 0.05)
    messages: list[str] = []
    thread = threading.Thread(target=lambda: LocalStudent({"f": lambda: time.sleep(0.5)}, tell=messages.append).f())
    thread.start()
    thread.join()
    assert len(messages) == 1
    assert messages[0].startswith("f is still running")


def test_exit_is_an_exception_with_its_line():
    namespace: dict[str, Any] = {}
    cell("softmax", "import sys\ndef softmax(x):\n    sys.exit(3)\n", namespace)
    (verdict, *_) = run_checks("softmax", select("softmax", exercise="softmax", hidden=False), LocalStudent(namespace))
    assert (verdict.outcome, verdict.lines) == ("error", ["softmax, line 3: sys.exit(3)"])


def test_a_check_that_is_stopped_by_hand_keeps_what_was_found():
    namespace: dict[str, Any] = {}
    cell("softmax", "def softmax(x):\n    if x.dim() > 1: raise KeyboardInterrupt\n    return x.softmax(-1)\n", namespace)
    verdicts = run_checks("softmax", select("softmax", exercise="softmax", hidden=False), LocalStudent(namespace))
    outcomes = [verdict.outcome for verdict in verdicts]
    first = outcomes.index("stopped")
    assert first > 0
    assert set(outcomes[:first]) == {"pass"}
    assert verdicts[first].lines == ["softmax, line 2: if x.dim() > 1: raise KeyboardInterrupt"]
    assert {verdict.message for verdict in verdicts[first + 1 :]} == {"not run: you stopped the checks"}
    assert all(verdict.failed for verdict in verdicts[first:])
