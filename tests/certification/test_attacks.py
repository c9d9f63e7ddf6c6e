"""Attacks get their honest points and do no harm; what they found is held by tests of its own; faults are not zeros."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from autograder import cli
from autograder.authoring import CheckFailed, checks, show
from autograder.base.course_table import earlier_sources
from autograder.base.errors import CourseError
from autograder.certification import attack_suite
from autograder.checking.runner import Check, more_checks, run_check, select
from autograder.grading.timing_phase import grade_one
from autograder.lessons import find_day
from autograder.sandbox.confine import isolation
from autograder.sandbox.confine.limits import Limits
from autograder.sandbox.process import channel, forkserver_client, forkserver_pool
from autograder.sandbox.process.channel import WorkerChannel
from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from autograder.sandbox.process.session import MAX_DEATHS
from autograder.sandbox.protocol import wire
from autograder.sandbox.protocol.comparing import same
from autograder.sandbox.protocol.worker_errors import WorkerDied
from tests.support.submissions import QUICK, hand_in, only_lost, solved, with_cell

SOFTMAX = find_day("softmax")
SAMPLE = (
    "read_solution_file", "read_garbage_collector", "forge_always_equal", "forge_no_result", "forge_unchanged_arguments",
    "forge_edited_check_cells", "persist_poisoned_modules", "damage_kill_own_group", "damage_huge_messages",
    "damage_notebook_fifo", "damage_deep_folders", "network_tcp",
    "forge_late_tensor", "forge_ranks_file_locks", "damage_ranks_kept_communicator",
)  # fmt: skip

FIND_WORKER = (
    "import gc, json, struct, time\n"
    "worker = next(w for w in gc.get_objects() if type(w).__name__ == 'Worker' and hasattr(w, 'connection'))\n"
    "def send(tree, payload=b''):\n"
    "    header = tree if isinstance(tree, bytes) else json.dumps(tree).encode()\n"
    "    worker.connection.sendall(struct.pack('>4sIQ', b'FPT1', len(header), len(payload)) + header + payload)\n"
)


@pytest.fixture
def remote():
    """Functions in a worker of the softmax day, from the source of one cell."""
    started: list[RemoteStudent] = []

    def start(source: str, limits: Limits = QUICK.limits) -> RemoteStudent:
        started.append(RemoteStudent("softmax", [Cell("probe", source)], earlier_sources("softmax"), limits=limits))
        started[-1].start()
        assert started[-1].cell_outcomes == {}, started[-1].cell_outcomes
        return started[-1]

    yield start
    for each in started:
        each.close()


def judged(student: RemoteStudent, body) -> str:
    """The outcome of a check that does `body(student)`."""

    @checks("softmax")
    def test_body(student):
        """a check"""
        body(student)

    return run_check("softmax", Check("test_body", "softmax", "a check", 1.0, False, test_body), student).outcome


# The suite


def test_checks_that_an_attack_brings_along_are_those_that_must_fail():
    for attack in attack_suite.read_attacks(SOFTMAX):
        if brought := attack_suite.checks_of(attack):
            assert {function.__name__ for function in brought} == attack.less
            with more_checks(SOFTMAX.topic, brought):
                assert attack.less <= {check.name for check in select(SOFTMAX.topic)}
    assert not any(check.name == "test_late_draw" for check in select(SOFTMAX.topic))


def test_there_are_attacks_of_every_kind_and_all_files_are_in_form():
    attacks = attack_suite.read_attacks(SOFTMAX)
    assert len(attacks) >= 45
    assert {attack.kind for attack in attacks} == set(attack_suite.KINDS)
    assert all(len(attack.tries_to) > 10 for attack in attacks)
    assert set(SAMPLE) <= {attack.name for attack in attacks}


def test_points_that_are_not_those_of_the_exercises_named_are_refused():
    text = "# honest: 5 of 10: softmax\n# ATTACK: nothing\n"
    with pytest.raises(CourseError, match="claims 5 of 10 points"):
        attack_suite.read_attack("read_nothing", text, {"softmax": 4, "log_softmax": 3, "entropy": 3})
    with pytest.raises(CourseError, match="first two lines"):
        attack_suite.read_attack("read_nothing", "# ATTACK: nothing\n", {"softmax": 4})


@pytest.mark.slow
def test_some_attacks_of_each_kind_are_held():
    results = attack_suite.run(SAMPLE)
    assert {r.attack: r.trouble for r in results if not r.honest} == {}
    figures = attack_suite.as_json(results)
    assert (figures["attacks_total"], figures["attacks_honest"]) == (len(SAMPLE), len(SAMPLE))


@pytest.mark.slow
def test_the_suite_sees_an_attack_that_succeeds(tmp_path, monkeypatch):
    """The suite itself is tested: deeds that do succeed, of each kind that it looks for, are reported."""
    monkeypatch.setattr(attack_suite, "FOLDER", tmp_path)
    head = "# honest: 4 of 10: softmax\n# ATTACK: succeeds by arrangement\n"
    deeds = {
        "read_won": "def attempt():\n    return True\n",
        "persist_file": "# %% file\npath.write_text(json.dumps(notebook))\nneighbour.write_text('changed: ' + neighbour.read_text())\n",
        "network_arrived": "# %% notebook\nimport socket\nsocket.create_connection(('127.0.0.1', __TCP__)).close()\n",
    }
    for name, source in deeds.items():
        (tmp_path / f"{name}.py").write_text(f"# === {name}\n{head}{source}")
    trouble = {r.attack: "; ".join(r.trouble) for r in attack_suite.run()}
    assert "10 points where 4 were expected" in trouble["read_won"]
    assert "next right submission" in trouble["persist_file"]
    assert "arrived over the network" in trouble["network_arrived"]


def test_what_changed_is_named(tmp_path):
    place = attack_suite.Place(tmp_path, SOFTMAX, (), {})
    for student in ("neighbour",):
        place.write(student, "{}")
    (tmp_path / "gradebook.db").write_text("")
    before = attack_suite.snapshot(place)
    assert attack_suite.changes(before, before) == set()
    (tmp_path / "gradebook.db").write_text("10")
    assert str(tmp_path / "gradebook.db") in attack_suite.changes(before, attack_suite.snapshot(place))


def test_certify_attacks_tells_json_and_its_status(monkeypatch, capsys):
    held = attack_suite.Result("read_x", "read", "reads x", 4.0, 4.0, 0.1, "partial")
    lost = dataclasses.replace(held, attack="read_y", points=10.0, trouble=["10 points where 4 were expected"])
    for results, status in (([held], 0), ([held, lost], 1)):
        monkeypatch.setattr(attack_suite, "run", lambda progress, results=results: results)
        monkeypatch.setattr(sys, "argv", ["autograder", "certify", "attacks", "--json"])
        with pytest.raises(SystemExit) as ended:
            sys.exit(cli.main())
        assert int(ended.value.code or 0) == status
        figures = json.loads(capsys.readouterr().out)
        assert (figures["attacks_total"], figures["attacks_honest"]) == (len(results), 1)
    assert figures["attacks_not_honest"][0]["attack"] == "read_y"


# What the attacks found: the wire


def decode(tree, payload: bytes = b"") -> object:
    return wire.decode(json.dumps(tree).encode(), payload, lambda other: None)


def test_no_byte_of_the_payload_is_used_twice():
    tensor = {"$": "tensor", "dtype": "uint8", "shape": [1000], "at": 0, "n": 1000}
    assert decode(tensor, bytes(1000)).shape == (1000,)  # type: ignore[attr-defined]
    with pytest.raises(wire.WireError, match="twice"):
        decode([tensor, tensor], bytes(1000))


def test_keys_that_could_collide_are_few_and_text_is_free():
    def pairs(kind):
        return {"$": "dict", "v": [[kind(n), 0] for n in range(10_000)]}

    assert len(decode(pairs(str))) == 10_000  # type: ignore[arg-type]
    assert len(decode(pairs(lambda n: {"$": "tuple", "v": [str(n), "b"]}))) == 10_000  # type: ignore[arg-type]
    start = time.perf_counter()
    with pytest.raises(wire.WireError, match="not text"):
        decode(pairs(lambda n: {"$": "int", "v": str(n * (2**61 - 1))}))
    assert time.perf_counter() - start < 10


def empty(*shape: int) -> dict[str, object]:
    return {"$": "tensor", "dtype": "float32", "shape": list(shape), "at": 0, "n": 0}


@pytest.mark.parametrize("tree", [empty(20_000_000, 0), empty(0, 3_000, 3_000), [empty(1000, 0, 1000)] * 2, [empty(60_000, 0)] * 20])
def test_a_tensor_without_values_counts_as_many_as_its_shape_would_list(tree):
    with pytest.raises(wire.WireError, match=r"too many (empty parts|values)"):
        decode(tree)
    assert decode(empty(0, 49_152)).shape == (0, 49_152)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_reply_with_too_many_values_is_refused_before_they_are_made():
    frame = b"[" + b",".join([b"[]"] * 2_500_000) + b"]"
    start = time.thread_time()
    with pytest.raises(wire.WireError, match="too many values"):
        wire.decode(frame, b"", lambda other: None, reply=True)
    refused = time.thread_time() - start
    start = time.thread_time()
    json.loads(frame)
    assert refused < (time.thread_time() - start) / 2
    most = json.dumps([[] for _ in range(wire.MAX_REPLY_NODES - 1)]).encode()
    assert wire.decode(most, b"", lambda other: None, reply=True)
    with pytest.raises(wire.WireError, match="too many values"):
        wire.decode(b"[" + most[1:-1] + b",[]]", b"", lambda other: None, reply=True)


@pytest.mark.parametrize("length", [10**6, 2**40, 2**62])
def test_a_length_that_no_answer_has_is_the_submissions_fault(remote, length):
    source = f"class Long:\n    def __len__(self): return {length}\n    def __iter__(self): return iter(())\ndef f(): return Long()\n"
    student = remote(source)
    for use in (len, list, tuple):
        with pytest.raises(CheckFailed, match="more than an answer may have"):
            use(student.f())


def test_a_value_is_shown_without_being_written_out_whole():
    assert show(torch.empty(20_000_000, 0)) == "tensor of shape (20000000, 0), float32"
    assert show(torch.empty(0)) == "[]"
    start = time.thread_time()
    text = show([[]] * 5_000_000)
    shown = time.thread_time() - start
    start = time.thread_time()
    assert len(repr([[]] * 5_000_000)) > len(text) == 160
    assert shown < (time.thread_time() - start) / 2


def test_a_worker_may_send_less_than_it_is_sent():
    head = wire.HEAD.pack(wire.MAGIC, wire.MAX_REPLY_HEADER_BYTES + 1, 0)
    assert wire.lengths(head)
    with pytest.raises(wire.WireError, match="over the limit"):
        wire.lengths(head, reply=True)
    assert struct.calcsize(">4sIQ") == wire.HEAD.size


# What the attacks found: side effects, compared by the grader


@pytest.mark.parametrize("place", ["local", "remote"])
@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("x[x == -float('inf')] = torch.finfo(x.dtype).min", [1.0, -float("inf")]),
        ("x[x == float('inf')] = torch.finfo(x.dtype).max", [1.0, float("inf")]),
        ("x[0] = 2", [1.0, 3.0]),
        ("x.resize_(1)", [1.0, 3.0]),
        ("x[0] = 0", [float("nan"), 3.0]),
    ],
)
def test_a_change_in_place_is_seen(remote, place, change, value):
    source = f"import torch\ndef softmax(x):\n    {change}\n    return 1\ndef kind(x):\n    return 1\n"
    if place == "local":
        names: dict = {}
        exec(source, names)
        student: RemoteStudent | LocalStudent = LocalStudent(names)
    else:
        student = remote(source)
    with pytest.raises(CheckFailed, match="changed its argument 1 in place"):
        student.softmax(torch.tensor(value), _unchanged=True)
    assert student.kind(torch.tensor(value), _unchanged=True) == 1


def test_same_knows_nan_infinity_and_nested_values():
    nan, inf = float("nan"), float("inf")
    assert same(torch.tensor([nan, inf, -inf, 1]), torch.tensor([nan, inf, -inf, 1]))
    assert not same(torch.tensor([-inf]), torch.tensor([torch.finfo(torch.float32).min]))
    assert not same([1, [2, nan]], [1, [2, 0.0]])
    assert same([1, [2, nan]], [1, [2, nan]])
    assert same({"a": (1, "b")}, {"a": (1, "b")})
    assert not same({"a": 1}, {"b": 1})
    assert not same(1, True)


def test_replacing_the_workers_comparisons_hides_nothing(remote):
    student = remote(
        "import torch, autograder.sandbox.process.worker as w\n"
        "w.same = torch.equal = lambda *a: True\nw.snapshot = lambda v: v\ntorch.get_rng_state = lambda: torch.zeros(1)\n"
        "def softmax(x):\n    x.zero_()\n    return x\ndef draw(x):\n    return torch.rand(1)\n"
    )
    with pytest.raises(CheckFailed, match="changed its argument"):
        student.softmax(torch.ones(2), _unchanged=True)
    with pytest.raises(CheckFailed, match="random state"):
        student.draw(torch.ones(2), _rng_unchanged=True)


def test_arguments_that_do_not_cross_as_data_are_passed_over(remote):
    student = remote("def softmax(x, model, generator, options):\n    model(x)\n    return x + 1\n")
    model = torch.nn.Identity()
    got = student.softmax(torch.ones(2), model, student.generator(1), {"a": [model]}, _unchanged=True, _rng_unchanged=True)
    assert got.tolist() == [2.0, 2.0]


# What the attacks found: deadlines and budgets


@pytest.mark.slow
def test_a_byte_now_and_then_does_not_stop_the_clock(remote):
    student = remote(
        FIND_WORKER + "def softmax(x):\n    worker.connection.sendall(struct.pack('>4sIQ', b'FPT1', 1000, 1 << 25))\n"
        "    while True:\n        worker.connection.sendall(b' ')\n        time.sleep(0.02)\n"
    )
    start = time.monotonic()
    with pytest.raises(WorkerDied) as died:
        student.softmax(1)
    assert died.value.outcome == "timeout"
    assert time.monotonic() - start < 30


def test_an_iterator_that_never_ends_is_not_waited_for(remote, monkeypatch):
    monkeypatch.setattr("autograder.sandbox.confine.budget.MAX_REQUESTS", 200)
    student = remote("import itertools\ndef softmax(x):\n    return itertools.repeat(x)\n")
    assert judged(student, lambda s: list(s.softmax(1))) == "timeout"
    assert judged(student, lambda s: next(s.softmax(1))) in ("pass", "timeout")


def test_a_check_and_a_submission_have_their_time_in_all(remote):
    slow = "import time\ndef softmax(x):\n    end = time.process_time() + 0.3\n    while time.process_time() < end: pass\n    return x\n"
    student = remote(slow, dataclasses.replace(QUICK.limits, check_seconds=0.8))

    def often(s):
        for _ in range(50):
            s.softmax(1)

    start = time.monotonic()
    assert judged(student, often) == "timeout"
    assert time.monotonic() - start < 20
    student._session.budget.limits = dataclasses.replace(QUICK.limits, submission_seconds=0.01)
    assert judged(student, lambda s: s.log_softmax(1)) == "timeout"


def test_endless_callbacks_end(remote, monkeypatch):
    monkeypatch.setattr(channel, "MAX_CALLBACKS", 50)
    student = remote("def softmax(model):\n    while True:\n        model(1)\n")
    assert judged(student, lambda s: s.softmax(lambda x: x)) == "timeout"


def test_a_given_function_is_not_called_with_too_much_nor_with_the_students_objects(remote):
    student = remote("import torch\nclass Odd:\n    shape = 3\ndef large(model):\n    return model(torch.zeros(1 << 21))\n"
                  "def odd(model):\n    return model(Odd())\n")  # fmt: skip
    assert judged(student, lambda s: s.large(lambda x: 1)) == "crashed"
    seen: list[str] = []

    def model(x):
        try:
            return x.shape
        except TypeError as error:
            seen.append(str(error))
            return 0

    student.odd(model)
    assert "instead of data" in seen[0]


@pytest.mark.parametrize(
    "reply", ["{'seq': n}", "{'seq': n, 'error': 7}", "{'seq': n, 'error': {'names': 5, 'lines': {}}}", "{'seq': 0, 'ok': 1}"]
)
def test_no_reply_can_pass_for_a_fault_of_ours(remote, reply):
    student = remote(
        FIND_WORKER + "real = worker.receive\nn = 0\n"
        "def receive():\n    global n\n    request = real()\n    n = request['seq'] if request else 0\n    return request\n"
        "worker.receive = receive\n"
        f"def softmax(x):\n    worker.connection.sendall(worker.encode({reply}))\n    time.sleep(0.2)\n"
    )
    assert judged(student, lambda s: s.softmax(1)) in ("crashed", "error")


def test_cells_that_end_the_process_are_tried_a_few_times_and_what_was_there_before_counts():
    cells = [Cell("good", "def softmax(x):\n    return x"), *(Cell(f"end{n}", "import os\nos._exit(0)") for n in range(40))]
    student = RemoteStudent("softmax", cells, {}, limits=QUICK.limits)
    try:
        student.start()
        assert student.softmax(5) == 5
        assert sum("not run" in o.message for o in student.cell_outcomes.values()) == 40 - MAX_DEATHS - 1
    finally:
        student.close()


def test_a_cell_of_a_million_letters_is_left_out_and_messages_stay_short(remote):
    cells = [Cell("long", "x = 1\n" * 200_000), Cell("good", "def softmax(x):\n    raise ValueError('y' * 10**7)")]
    student = RemoteStudent("softmax", cells, {}, limits=QUICK.limits)
    try:
        student.start()
        assert "not run" in student.cell_outcomes["long"].message
        with pytest.raises(ValueError, match="yyy") as error:
            student.softmax(1)
        assert len(str(error.value)) <= 2000
    finally:
        student.close()


# What the attacks found: the scratch folder


@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_files_without_end_are_stopped_and_the_next_worker_starts_at_once(level):
    forkserver_pool.want(level)
    try:
        forkserver_pool.forkserver(QUICK.limits)
        sources = {
            "many": "import os\nfor n in range(10**9):\n    os.mkdir(f'd{n}')",
            "deep": "import os\nfor n in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\nimport time\ntime.sleep(60)",
            "quick": "import os\nfor n in range(60):\n    os.mkdir('d')\n    os.chdir('d')",
        }
        for name, source in sources.items():
            student = RemoteStudent("softmax", [Cell(name, source)], {}, limits=QUICK.limits)
            student.start()
            student.close()
            assert student.cell_outcomes[name].outcome in ("memory", "timeout"), student.cell_outcomes
            start = time.monotonic()
            look = Cell("look", "import os\ndef look():\n    return os.listdir('.')")
            following = RemoteStudent("softmax", [look], {}, limits=QUICK.limits)
            following.start()
            assert list(following.look()) == []
            following.close()
            assert time.monotonic() - start < 15
    finally:
        forkserver_pool.want("auto")


def test_a_fork_server_is_closed_over_folders_that_are_too_deep_for_python():
    """Where the scratch is on the disk and the fork server no longer there, the grader removes what a worker left."""
    forkserver = forkserver_client.ForkServer(QUICK.limits, "none")
    forkserver.process.kill()
    deep = "import os\nfor n in range(3000):\n    os.mkdir('d')\n    os.chdir('d')"
    subprocess.run([sys.executable, "-c", deep], cwd=forkserver.scratch, check=True)
    forkserver.close()
    until = time.monotonic() + 60  # where the disk is slow, it is not waited for
    while forkserver.scratch.exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert not forkserver.scratch.exists()


def test_in_the_private_root_nobody_fills_anothers_folder():
    forkserver_pool.want("namespaces")
    try:
        forkserver_pool.forkserver(QUICK.limits)
        fill = "def fill():\n    for n in range(540):\n        open(f'f{n // 60}', 'ab').write(bytes(1 << 20))\n"
        write = "def write():\n    return open('mine', 'wb').write(bytes(1 << 20))"
        full = RemoteStudent("softmax", [Cell("fill", fill)], {}, limits=QUICK.limits)
        other = RemoteStudent("softmax", [Cell("write", write)], {}, limits=QUICK.limits)
        full.start()
        other.start()
        with pytest.raises((OSError, WorkerDied)):
            full.fill()
        assert other.write() == 1 << 20
        full.close()
        other.close()
    finally:
        forkserver_pool.want("auto")


def test_threads_are_bounded():
    if not (forkserver_pool.level() == "namespaces" or isolation.may_drop_user(forkserver_pool.level())):
        pytest.skip("without a user of its own a submission's threads cannot be distinguished from others'")
    source = (
        "import threading, time\nthreading.stack_size(64 * 1024)\ndef count():\n    n = 0\n    try:\n"
        "        while n < 5000:\n            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n            n += 1\n"
        "    except RuntimeError:\n        pass\n    return n\n"
    )
    student = RemoteStudent("softmax", [Cell("threads", source)], {}, limits=QUICK.limits)
    student.start()
    try:
        assert 10 < student.count() < 2000
    finally:
        student.close()


# Faults are not zeros


def killing_once(monkeypatch, what, at_request: int = 20) -> list[int]:
    """Kills something from outside at one request of a run; -> [how often]."""
    real, count, kills = WorkerChannel.request, [0], [0]

    def request(self, *arguments, **more):
        count[0] += 1
        if count[0] == at_request:
            kills[0] += 1
            what(self)
        return real(self, *arguments, **more)

    monkeypatch.setattr(WorkerChannel, "request", request)
    return kills


@pytest.mark.parametrize(
    "what",
    [
        lambda connection: os.kill(connection.pid, signal.SIGKILL),
        lambda connection: (forkserver_pool.source.running.process.kill(), forkserver_pool.source.running.process.wait()),
    ],
    ids=["worker", "forkserver"],
)
def test_a_worker_that_is_killed_from_outside_is_no_zero(tmp_path, monkeypatch, what):
    task = hand_in(tmp_path, "ada", solved())
    forkserver_pool.forkserver(QUICK.limits)
    kills = killing_once(monkeypatch, what)
    record = grade_one(task, QUICK, tmp_path / "records")
    assert kills == [1]
    assert only_lost(record)
    assert record.infrastructure is None


def test_a_fork_server_that_hangs_is_replaced(tmp_path, monkeypatch):
    forkserver_pool.forkserver(QUICK.limits)
    monkeypatch.setattr(forkserver_client, "FORK_SECONDS", 2.0)
    hung = forkserver_pool.forkserver(QUICK.limits).process
    for pid in [hung.pid, *descendants(hung.pid)]:
        os.kill(pid, signal.SIGSTOP)
    record = grade_one(hand_in(tmp_path, "ada", solved()), dataclasses.replace(QUICK), tmp_path / "records")
    assert only_lost(record)
    assert hung.poll() is not None


def test_a_submission_that_ends_its_process_each_time_keeps_its_crash(tmp_path):
    notebook = with_cell(solved(entropy="import os\ndef entropy(probs):\n    os.kill(os.getpid(), 9)"), "x = 1")
    record = grade_one(hand_in(tmp_path, "ada", notebook), QUICK, tmp_path / "records")
    assert only_lost(record, "entropy")
    assert record.status == "crashed"


def descendants(pid: int) -> list[int]:
    children = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            children[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid]
    for parent in found:
        found += [child for child, its in children.items() if its == parent]
    return found[1:]
