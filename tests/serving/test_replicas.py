"""Replicas behind a router: HAProxy itself, with the configuration that is written for it, before servers of this process; and the command.

Wrong configurations that were tried, each of which fails a test: turns in place of a hash, a hash of the whole text, a hash that is not
consistent, no bound, an answer held back until it is whole, no look at /health, no second try, clients that leave and are not noticed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import psutil
import pytest

from autograder.base.errors import CourseError
from autograder.cli import main
from autograder.serving import replicas, router
from autograder.serving.replicas import serve_replicas, share
from autograder.serving.router import BEGINNING, configuration, haproxy, sum_of
from course.kit.serving.running import address, open_port

from ..support.served import AUTOGRADER, Running, command, echoing
from .test_serve_command import wait_until

try:
    haproxy()
except CourseError as missing:
    WITHOUT = str(missing)
else:
    WITHOUT = ""
routes = pytest.mark.skipif(bool(WITHOUT), reason=WITHOUT)

NAMES = ("Ada", "Bela", "Chidi", "Dara", "Eve", "Femi", "Gia", "Hugo", "Ines", "Juro", "Kim", "Lea", "Mona", "Nils", "Olga", "Pia")
BEGINNINGS = [(f"Enter {name}, who speaks of {name}. " * 12)[:BEGINNING] for name in NAMES]
LONG: dict[str, Any] = {"max_tokens": 2000, "temperature": 1.0, "seed": 1, "stream": True}


@pytest.fixture(scope="module")
def servers() -> Iterator[list[Running]]:
    with ExitStack() as stack:
        yield [stack.enter_context(echoing(patience=120)) for _ in range(3)]


@contextmanager
def routed(replicas: list[str], folder: Path, route: str = "beginning") -> Iterator[str]:
    """HAProxy before these servers."""
    with open_port("127.0.0.1", 0) as opened:
        file = folder / "haproxy.cfg"
        file.write_text(configuration(opened.fileno(), [base.removeprefix("http://") for base in replicas], "127.0.0.1:9", route))
        with subprocess.Popen([haproxy(), "-db", "-f", str(file)], pass_fds=(opened.fileno(),)) as process:
            try:
                httpx.get(f"{address(opened)}/health", timeout=10)
                yield address(opened)
            finally:
                process.kill()


@pytest.fixture
def base(servers: list[Running], tmp_path: Path) -> Iterator[str]:
    with routed([server.base for server in servers], tmp_path) as it:
        yield it


def who(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return answer.headers["x-replica"]


def completion(base: str, prompt: Any, **fields: Any) -> str:
    """Which replica has answered."""
    return who(httpx.post(f"{base}/v1/completions", json={"max_tokens": 1, **fields, "prompt": prompt}, timeout=30))


def chat(base: str, *said: Any, **fields: Any) -> str:
    messages = [{"role": ("system", "user", "assistant")[min(i, 1 + (i + 1) % 2)], "content": text} for i, text in enumerate(said)]
    return who(httpx.post(f"{base}/v1/chat/completions", json={"max_tokens": 1, **fields, "messages": messages}, timeout=30))


# Who answers


@routes
def test_texts_that_begin_alike_meet_one_replica(base):
    """By chance, with each text for itself, this would come out once in 3**24 times."""
    met = [{completion(base, f"{text}{end}") for end in ("", " Exit.", " What now?" * 20)} for text in BEGINNINGS[:12]]
    assert [len(replicas) for replicas in met] == [1] * 12
    assert len(set.union(*met)) == 3  # in so many texts all replicas have a share


@routes
def test_a_conversation_comes_back_to_its_replica(base):
    """And who shares a system message goes the same way, whatever is asked and in whatever form."""
    for system in ("Be brief.", BEGINNINGS[0], "Größe, 大小: " + BEGINNINGS[1]):
        first = chat(base, system, "Who is there?", stream=True)
        again = [chat(base, system, "Who is there?", "Nay, answer me.", f"Question {i}?", temperature=0, seed=i) for i in range(6)]
        assert again == [first] * 6, system[:20]


@routes
def test_what_is_no_readable_text_goes_by_its_beginning_too(base):
    """Ids, content in parts, characters that are written as escapes: eight texts each, with the same beginning."""
    head = "\u4f60\u597d " * 60
    forms: dict[str, list[bytes]] = {
        "ids": [json.dumps({"prompt": [17] * 200 + [end]}).encode() for end in range(8)],
        "a list": [json.dumps({"prompt": [BEGINNINGS[3] + str(end)]}).encode() for end in range(8)],
        "escapes": [json.dumps({"prompt": f"{head}{end}"}).encode() for end in range(8)],
        "parts": [
            json.dumps({"messages": [{"role": "user", "content": [{"type": "text", "text": f"{BEGINNINGS[4]}{end}"}]}]}).encode()
            for end in range(8)
        ],
    }
    for form, bodies in forms.items():
        path = "chat/completions" if form == "parts" else "completions"
        met = {who(httpx.post(f"{base}/v1/{path}", content=body[:-1] + b', "max_tokens": 1}', timeout=30)) for body in bodies}
        assert len(met) == 1, form


@routes
def test_a_beginning_that_all_share_leaves_nobody_without_work(base):
    """Ten at once, and no replica has more than 1.75 times the mean of open requests."""
    with ThreadPoolExecutor(10) as people:
        met = Counter(people.map(lambda i: completion(base, f"{BEGINNINGS[5]}{i}", max_tokens=40), range(10)))
    assert len(met) > 1
    assert max(met.values()) <= 7  # 6 of 10, and one for who had ended meanwhile


@routes
def test_in_turns_nobody_looks_at_the_text(servers, tmp_path):
    with routed([server.base for server in servers], tmp_path, "turns") as base:
        assert len({completion(base, BEGINNINGS[0]) for _ in range(3)}) == 3


# What passes through


@routes
def test_an_event_goes_on_as_it_comes(base, servers):
    """A token is made each 20 ms: when the first five are here, not many more can be."""
    before = sum(server.core.num_tokens for server in servers)
    with httpx.stream("POST", f"{base}/v1/completions", json={"prompt": "O", **LONG}, timeout=60) as answer:
        events = (line for line in answer.iter_lines() if line)
        for _ in range(5):
            next(events)
        assert sum(server.core.num_tokens for server in servers) - before < 50


@routes
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_has_left_the_replica_too(base, servers, stream):
    """One who reads a stream, and one who waits for a whole answer: neither costs another token."""
    before = sum(server.metrics()["fpt_aborted_total"] for server in servers)
    try:
        with httpx.stream("POST", f"{base}/v1/completions", json={"prompt": "O", **LONG, "stream": stream}, timeout=0.5) as answer:
            next(answer.iter_text())
    except httpx.ReadTimeout:
        assert not stream
    wait_until(lambda: not any(server.core.has_work for server in servers), 5)
    wait_until(lambda: sum(server.metrics()["fpt_aborted_total"] for server in servers) == before + 1, 5)


@routes
def test_where_nobody_is_left_the_answer_has_openais_form(tmp_path):
    with open_port("127.0.0.1", 0) as closed:
        nobody = address(closed)
    with routed([nobody], tmp_path) as base:
        answer = httpx.post(f"{base}/v1/completions", json={"prompt": "O"}, timeout=30)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["error"]["code"] == "no_replica"


class Dies(BaseHTTPRequestHandler):
    """A replica that is well until it is asked: then it breaks off before its answer, or, of a chat, in the middle of it."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.asked.append(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        if "chat" in self.path:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"6\r\ndata: \r\n")
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Report nothing."""


@routes
def test_who_dies_before_the_answer_has_a_second_and_one_in_its_middle_is_not_repeated(servers, tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Dies) as dying:
        threading.Thread(target=dying.serve_forever, daemon=True).start()
        with routed([f"http://127.0.0.1:{dying.server_port}", servers[0].base], tmp_path) as base:
            assert {completion(base, text) for text in BEGINNINGS} == {"replica-2"}
            theirs = len(Dies.asked)
            assert 0 < theirs < len(BEGINNINGS)
            cut = 0
            for text in BEGINNINGS:
                try:
                    chat(base, text)
                except httpx.RemoteProtocolError:
                    cut += 1
            assert cut == theirs  # the same beginnings: no answer was taken for whole, and none asked for twice
        dying.shutdown()


# Who goes: last, for here a server ends


@routes
def test_the_router_answers_to_no_name_that_a_page_has_given_this_machine(base):
    def status(host: str) -> int:
        return httpx.get(f"{base}/v1/models", headers={"Host": host}).status_code

    assert {status(host) for host in ("evil.example", "127.0.0.1.evil.example:80")} == {403}
    assert {status(host) for host in ("localhost", "127.0.0.1:9", "[::1]")} == {200}


@routes
def test_who_drains_gets_nobody_new_and_finishes_and_only_its_share_moves(base, servers):
    before = [completion(base, text) for text in BEGINNINGS]
    going = next(server for server, text in zip(servers, ("replica-1", "replica-2", "replica-3"), strict=True) if text == before[0])
    name = f"replica-{servers.index(going) + 1}"
    body = {**LONG, "prompt": BEGINNINGS[0], "max_tokens": 150}
    with httpx.stream("POST", f"{base}/v1/completions", json=body, timeout=30) as answer:
        assert answer.headers["x-replica"] == name
        events = answer.iter_lines()
        next(events)
        going.core.step_seconds = 0.3  # it is not done before all this has been looked at, on a busy machine either
        going.stop()
        wait_until(lambda: httpx.get(f"{going.base}/health").status_code == 503)
        after = [completion(base, text) for text in BEGINNINGS]  # from the first one on: whoever is refused there is asked elsewhere

        def nobody_is_refused() -> bool:
            """Whether the router has looked: it asks the others at once."""
            refused = going.metrics().get('fpt_requests_total{status="503"}', 0)
            assert [completion(base, text) for text in BEGINNINGS] == after
            return going.metrics().get('fpt_requests_total{status="503"}', 0) == refused

        wait_until(nobody_is_refused)
        going.core.step_seconds = 0.01
        assert [line for line in events if line][-1] == "data: [DONE]"
    assert [new for old, new in zip(before, after, strict=True) if old != name] == [old for old in before if old != name]
    moved = {new for old, new in zip(before, after, strict=True) if old == name}
    assert moved
    assert name not in moved
    going.thread.join(20)
    assert [completion(base, text) for text in BEGINNINGS] == after  # it is gone, and nothing else has changed


# The command


def ended(process: psutil.Process) -> bool:
    """Whether the process has gone, or waits only for its parent to read its exit status."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@contextmanager
def all_ended(process: psutil.Process) -> Iterator[list[psutil.Process]]:
    """Its children, which have all ended when this ends, but for those that nobody waits for."""
    children = process.children(recursive=True)
    yield children
    _, alive = psutil.wait_procs(children, timeout=10)
    assert [each for each in alive if not ended(each)] == []


@routes
@pytest.mark.slow
def test_one_is_killed_the_others_go_on_and_ctrl_c_ends_all_that_was_started():
    with command("--model", "tiny", "--replicas", "2", "--patience", "60") as served, all_ended(psutil.Process(served.process.pid)) as them:
        assert "1 thread; the weights of tiny" in next(line for line in served.printed if line.startswith("Engine: float32"))
        servers = replicas_of(served.process)
        assert (len(servers), len(them)) == (2, 3)
        asked = [completion(served.base, text) for text in BEGINNINGS]
        assert set(asked) == {"replica-1", "replica-2"}
        counted = httpx.get(f"{served.base}/metrics").text
        assert f'fpt_requests_total{{status="200"}} {len(BEGINNINGS)}.0' in counted  # of both
        servers[0].kill()
        printed = served.process.stdout
        assert printed.readline() == "Replica 1 has ended (SIGKILL). The other one goes on.\n"
        assert {completion(served.base, text) for text in BEGINNINGS} == {"replica-2"}
        with httpx.stream("POST", f"{served.base}/v1/completions", json={**LONG, "prompt": "O", "max_tokens": 400}, timeout=60) as answer:
            events = answer.iter_lines()
            next(events)
            served.process.send_signal(signal.SIGINT)
            assert printed.readline() == "Replica 2: Ending: 1 answer is finished first, for at most 60 s. Ctrl-C again ends at once.\n"
            refused = httpx.post(f"{served.base}/v1/completions", json={"prompt": "O"})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert [line for line in events if line][-1] == "data: [DONE]"
        assert served.process.wait(15) == 0
        assert printed.read() == ""


def replicas_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The servers behind a router, in the order of their numbers."""
    servers = [each for each in psutil.Process(process.pid).children() if "--fd" in each.cmdline()]
    return sorted(servers, key=psutil.Process.create_time)


@routes
@pytest.mark.slow
def test_a_replica_that_hangs_is_killed_and_its_requests_go_elsewhere():
    """While all serve, and again at the end: neither a client nor SIGTERM waits for it."""
    with command("--model", "tiny", "--replicas", "2") as served, all_ended(psutil.Process(served.process.pid)):
        first, second = replicas_of(served.process)
        first.suspend()
        with ThreadPoolExecutor(len(BEGINNINGS)) as people:
            assert set(people.map(lambda text: completion(served.base, text), BEGINNINGS)) == {"replica-2"}
        printed = served.process.stdout
        assert printed.readline() == "Replica 1 has not answered for 10 s and is killed.\n"
        assert printed.readline() == "Replica 1 has ended (SIGKILL). The other one goes on.\n"
        second.suspend()
        served.process.terminate()
        assert served.process.wait(30) == 0
        assert printed.read() == "Replica 2 has not answered for 10 s and is killed.\n"


@routes
@pytest.mark.slow
def test_a_second_signal_waits_for_no_replica():
    with command("--model", "tiny", "--replicas", "2") as served, all_ended(psutil.Process(served.process.pid)):
        first, second = replicas_of(served.process)
        first.suspend()
        served.process.terminate()
        wait_until(lambda: ended(second))
        served.process.terminate()
        assert served.process.wait(5) == 0


@routes
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_killed_itself_it_leaves_nobody_behind():
    words = [str(AUTOGRADER), "serve", "--port", "0", "--model", "tiny", "--replicas", "2"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
        it = psutil.Process(process.pid)
        wait_until(lambda: len(it.children()) == 2)
        with all_ended(it):
            process.kill()


@routes
def test_what_no_replica_starts_with_is_reported_once(capfd, monkeypatch):
    ends = "import sys; print('autograder: no such model', file=sys.stderr); sys.exit(2)"
    monkeypatch.setattr(replicas, "SERVE", (sys.executable, "-c", ends))
    assert serve_replicas(3, [], host="127.0.0.1", port=0, route="beginning") == 2
    assert capfd.readouterr().err == "autograder: no such model\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--replicas", "2"], router.MISSING),
        (["--dtype", "float16"], "DTYPE must be auto or float32, got float16"),
        (["--route", "turns"], "ROUTE chooses between replicas: add REPLICAS=2 (--replicas 2), or leave ROUTE out"),
    ],
)
def test_what_it_cannot_do_is_one_line(options, says, capsys, monkeypatch):
    monkeypatch.setattr(router.shutil, "which", lambda name, path: None)
    monkeypatch.setattr("sys.argv", ["autograder", "serve", "--port", "0", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"autograder: {says}\n"


@pytest.mark.parametrize(("given", "dtype"), [([], "float32"), (["--dtype", "auto"], "auto")])
def test_each_replica_is_asked_for_what_one_server_would_be(given, dtype, monkeypatch):
    asked: list[Any] = []
    monkeypatch.setattr(replicas, "serve_replicas", lambda count, options, **rest: asked.append((count, options, rest)) or 0)
    monkeypatch.setattr("sys.argv", ["autograder", "serve", "--replicas", "3", "--engine", "mine", "--max-len", "99", *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    [(count, options, rest)] = asked
    assert dict(zip(options[::2], options[1::2], strict=True)) == {
        "--model": "smollm2", "--engine": "mine", "--dtype": dtype, "--rows": "8", "--waiting": "64", "--patience": "10.0",
        "--max-len": "99",
    }  # fmt: skip
    assert (count, rest) == (3, {"host": "127.0.0.1", "port": 8000, "route": "beginning", "key": None})


def test_a_key_and_the_sites_are_passed_on_and_the_key_not_in_the_options(monkeypatch):
    asked: list[Any] = []
    monkeypatch.setenv("VLLM_API_KEY", "sesame")
    monkeypatch.setattr(replicas, "serve_replicas", lambda count, options, **rest: asked.append((options, rest["key"])) or 0)
    monkeypatch.setattr("sys.argv", ["autograder", "serve", "--replicas", "2", "--cors", "https://a.example", "--cors", "http://b.example"])
    with pytest.raises(SystemExit):
        main()
    [(options, key)] = asked
    assert options[-4:] == ["--cors", "https://a.example", "--cors", "http://b.example"]
    assert key == "sesame"
    assert "sesame" not in options


class Repeats(BaseHTTPRequestHandler):
    """A replica that answers with the address that the router says the client has."""

    def do_GET(self) -> None:
        body = ", ".join(self.headers.get_all("X-Forwarded-For", [])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Report nothing."""


@routes
def test_the_router_says_where_a_client_is_whatever_the_client_says(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Repeats) as repeating:
        threading.Thread(target=repeating.serve_forever, daemon=True).start()
        with routed([f"http://127.0.0.1:{repeating.server_port}"], tmp_path) as base:
            for claims in ({}, {"X-Forwarded-For": "10.0.0.7"}, {"x-forwarded-for": "10.0.0.7, 10.0.0.8"}):
                assert httpx.get(f"{base}/v1/models", headers=claims).text == "127.0.0.1"
        repeating.shutdown()


@routes
@pytest.mark.slow
def test_replicas_need_the_key_and_no_process_has_it_in_its_command_line():
    with command("--model", "tiny", "--replicas", "2", env={"VLLM_API_KEY": "sesame"}) as served:
        assert httpx.get(f"{served.base}/v1/models").status_code == 401
        for _ in range(2):
            assert httpx.get(f"{served.base}/v1/models", headers={"Authorization": "Bearer sesame"}).json()["data"][0]["id"] == "tiny"
        everybody = [psutil.Process(served.process.pid), *psutil.Process(served.process.pid).children(recursive=True)]
        assert len(everybody) == 4
        assert not any("sesame" in word for process in everybody for word in process.cmdline())


def test_an_unknown_route_is_named():
    with pytest.raises(CourseError, match=r"^ROUTE must be beginning or turns, got chance$"):
        configuration(3, ["127.0.0.1:1"], "127.0.0.1:2", "chance")


def test_the_cores_are_shared_out(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert [share(count) for count in (1, 2, 3, 16)] == [8, 4, 2, 1]


def test_the_figures_of_several_add_up():
    one, two = (
        f'# HELP fpt_requests_total Requests\n# TYPE fpt_requests_total counter\nfpt_requests_total{{status="200"}} {n}.0\n{more}'
        f"# HELP fpt_num_running Who runs\n# TYPE fpt_num_running gauge\nfpt_num_running {n}.0\n"
        for n, more in ((3, ""), (4, 'fpt_requests_total{status="429"} 1.0\n'))
    )
    lines = sum_of([one, two]).decode().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        'fpt_requests_total{status="200"} 7.0', 'fpt_requests_total{status="429"} 1.0', "fpt_num_running 7.0",
    ]  # fmt: skip
    assert sum_of([]) == b""
