"""`autograder serve` as a process: what it prints, what it does on a signal to end, and what it will not start with."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import nbformat
import openai
import pytest

from autograder.cli import main
from autograder.lessons import find_day
from autograder.serving.server import OWN, announce, model_name, whose
from course.kit.serving.running import CannotListen, open_port

from ..support import lab
from ..support.served import AUTOGRADER, client, command, running, slow, tiny

ROOT = Path(__file__).parents[2]
LONG = {"prompt": "O", "max_tokens": 1000, "temperature": 1.0}


def read_stream(base: str, seed: int, new: int, into: dict[int, str], began: threading.Barrier | None = None) -> None:
    body = {**LONG, "max_tokens": new, "seed": seed, "stream": True}
    with httpx.stream("POST", f"{base}/v1/completions", json=body, timeout=60) as answer:
        text = ""
        for piece in answer.iter_text():
            text += piece
            if began is not None and "data:" in text:
                began.wait(30)
                began = None
    into[seed] = text


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_every_answer_be_finished_and_nobody_new_in(number):
    """One runs and three wait; all four have been let in. They are long enough to be there still."""
    with command("--model", "tiny", "--rows", "1", "--patience", "60") as served:
        texts: dict[int, str] = {}
        began = threading.Barrier(2)
        asked = ((0, 400, began), (1, 100, None), (3, 100, None), (4, 100, None))
        readers = [threading.Thread(target=read_stream, args=(served.base, seed, new, texts, first)) for seed, new, first in asked]
        readers[0].start()
        began.wait(30)
        for reader in readers[1:]:
            reader.start()
        wait_until(lambda: "fpt_num_waiting 3.0" in httpx.get(f"{served.base}/metrics").text)
        served.process.send_signal(number)
        wait_until(lambda: httpx.get(f"{served.base}/health").status_code == 503)
        refused = httpx.post(f"{served.base}/v1/completions", json={"prompt": "O"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")
        assert refused.headers["retry-after"] == "1"
        for reader in readers:
            reader.join(60)
        assert served.process.wait(15) == 0
        for seed, text in texts.items():
            events = [event.removeprefix("data: ") for event in text.split("\n\n") if event]
            assert events[-1] == "[DONE]", seed
            assert json.loads(events[-2])["choices"][0]["finish_reason"] == "length"
        assert len(texts) == 4
        assert served.process.stdout.read().startswith("Ending: 4 answers are finished first, for at most 60 s.")


def wait_until(ready: Any, seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
def test_what_is_printed_can_be_run():
    with command("--model", "tiny") as served:
        speed, line, curl, python = served.printed[-4:]
        assert re.fullmatch(r"A single request gets [1-9]\d* tokens a second here, just measured; .*", speed)
        assert line == f"tiny answers at {served.base} (the chat page; Ctrl-C ends it)"
        assert served.base.startswith("http://127.0.0.1:")
        output = subprocess.run(shlex.split(curl), capture_output=True, text=True, timeout=60, check=True).stdout
        assert output.endswith("data: [DONE]\n\n")
        env = {**os.environ, "PATH": f"{AUTOGRADER.parent}:{os.environ['PATH']}"}
        said = subprocess.run(shlex.split(python), capture_output=True, text=True, timeout=60, check=True, env=env).stdout
        assert len(said.split()) > 3
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(15) == 0  # nobody is open: at once


def test_a_port_that_is_taken_is_named(capsys, monkeypatch):
    with open_port("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=rf"^port {port} is taken: .*`make serve PORT={port + 1}` or --port {port + 1}$"):
            open_port("127.0.0.1", port)
        monkeypatch.setattr("sys.argv", ["autograder", "serve", "--model", "tiny", "--port", str(port)])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert output.err.startswith(f"autograder: port {port} is taken")
    assert output.err.count("\n") == 1
    assert output.out == ""


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--port", "70000"], "PORT must be 0 to 65535, got 70000"),
        (["--host", "no such host"], "HOST=no such host is no address of this machine"),
        (["--host", "192.0.2.1"], "the server cannot listen on HOST=192.0.2.1"),
        (["--engine", "yours"], "ENGINE must be reference or mine, got yours"),
        *[
            (["--cors", site], f"--cors {site}: give a site's origin, such as ")
            for site in ("*", "null", "example.org", "https://example.org/", "HTTPS://Example.org", "")
        ],
        (["--model", "/nowhere/model.gguf"], "/nowhere/model.gguf"),
        (["--model", "tiny", "--max-len", "5000"], "max_len must be 1 to 2048 for tiny, got 5000"),
    ],
)
def test_what_it_cannot_start_with_is_one_line(options, says, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["autograder", "serve", "--port", "0", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    output = capsys.readouterr().err
    assert says in output
    assert output.count("\n") == 1


def test_the_printed_commands_ask_for_the_most_probable_tokens(capsys):
    announce("http://127.0.0.1:8000", "tiny", "127.0.0.1")
    curl, client = (line for line in capsys.readouterr().out.splitlines() if line.startswith("  "))
    assert '"temperature": 0,' in curl
    assert "temperature=0)" in client


def test_the_printed_commands_read_a_key_from_the_environment_and_do_not_show_it(capsys):
    announce("http://127.0.0.1:8000", "tiny", "0.0.0.0", keyed=True)
    shown = capsys.readouterr()
    curl, client = (line for line in shown.out.splitlines() if line.startswith("  "))
    assert ' -H "Authorization: Bearer $VLLM_API_KEY" ' in curl
    assert "import os, openai; " in client
    assert "api_key=os.environ['VLLM_API_KEY'])" in client
    assert shown.err == "Warning: HOST=0.0.0.0 lets every machine that can reach this one send requests; key and texts are not encrypted.\n"


@pytest.mark.slow
@pytest.mark.parametrize(("given", "env"), [((), {"VLLM_API_KEY": "sesame"}), (("--api-key", "sesame"), {"VLLM_API_KEY": "another"})])
def test_a_key_of_an_option_or_of_the_environment_is_needed(given, env):
    with command("--model", "tiny", "--cors", "https://app.example", *given, env=env) as served:
        assert not any("sesame" in line for line in served.printed)
        assert httpx.get(f"{served.base}/health").status_code == 200
        with pytest.raises(openai.AuthenticationError):
            client(served.base).models.list()
        assert [model.id for model in client(served.base, api_key="sesame").models.list()] == ["tiny"]
        allowed = httpx.get(f"{served.base}/v1/models", headers={"Origin": "https://app.example"})
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (401, "https://app.example")


@pytest.mark.parametrize(
    ("options", "key"),
    [([], ""), (["--api-key", ""], None), (["--api-key", "open sesame"], "sesame"), (["--api-key", "s\u00e9same"], None)],
)
def test_a_key_that_cannot_be_sent_is_named_before_anything_is_loaded(options, key, capsys, monkeypatch):
    if key is not None:
        monkeypatch.setenv("VLLM_API_KEY", key)
    for more in ([], ["--replicas", "2"]):
        monkeypatch.setattr("sys.argv", ["autograder", "serve", "--port", "0", "--model", "/nowhere", *more, *options])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        message = "autograder: the key (VLLM_API_KEY, or --api-key) must be ASCII characters without spaces, at least one\n"
        assert capsys.readouterr().err == message


def test_a_chat_hotter_than_two_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["autograder", "chat", "--temperature", "9"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "temperature" in capsys.readouterr().err


def test_whoever_opens_it_to_others_is_warned(capsys):
    announce("http://127.0.0.1:8000", "tiny", "0.0.0.0")
    assert "Warning: HOST=0.0.0.0 lets every machine" in capsys.readouterr().err
    announce("http://127.0.0.1:8000", "tiny", "127.0.0.1")
    assert capsys.readouterr().err == ""


def test_a_model_is_called_by_its_name_or_its_file():
    assert [model_name(name) for name in ("tiny", "smollm2", "/models/Some-Model.Q4_1.gguf", "/models/folder/")] == [
        "tiny", "smollm2", "Some-Model.Q4_1", "folder",
    ]  # fmt: skip


def test_make_passes_on_what_it_is_given_and_a_hosts_name_from_the_environment_is_none():
    def line(*given: str) -> list[str]:
        env = {**os.environ, "HOST": "x86_64-linux"}
        printed = subprocess.run(["make", "-n", "serve", *given], cwd=ROOT, capture_output=True, text=True, check=True, env=env).stdout
        text = printed.replace("\\\n", " ").splitlines()
        return shlex.split(next(each for each in text if "autograder serve" in each))[1:]

    assert line() == ["serve"]
    assert line("MODEL=tiny", "PORT=8001", "ENGINE=mine", "HOST=0.0.0.0") == [
        "serve", "--model", "tiny", "--port", "8001", "--engine", "mine", "--host", "0.0.0.0",
    ]  # fmt: skip
    assert line("CORS=https://a.example http://localhost:3000") == ["serve", "--cors", "https://a.example", "--cors", "http://localhost:3000"]
    assert line("REPLICAS=2", "DTYPE=auto", "ROUTE=turns") == ["serve", "--replicas", "2", "--dtype", "auto", "--route", "turns"]


# How it ends, in this process


def test_after_its_patience_an_answer_is_cut_off(capfd):
    with running(tiny(), rows=1, patience=0.5) as served, slow(served.core, 0.05):
        texts: dict[int, str] = {}
        cut: list[Exception] = []

        def read() -> None:
            try:
                read_stream(served.base, 0, 1000, texts)
            except httpx.HTTPError as error:
                cut.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        wait_until(lambda: served.core.num_running)
        served.stop()
        reader.join(20)
        served.thread.join(20)
        assert not served.thread.is_alive()
        assert [type(error) for error in cut] == [httpx.RemoteProtocolError]  # cut off, and not taken for an end
    output = capfd.readouterr()
    assert "Ending: 1 answer is finished first, for at most 0.5 s." in output.out
    assert "Cut off after 0.5 s: 1" in output.err
    assert "Traceback" not in output.err


def test_signalled_twice_it_ends_at_once(capfd):
    with running(tiny(), rows=1, patience=60) as served, slow(served.core, 0.05):
        stream = client(served.base).completions.create(model="tiny", **LONG, seed=0, stream=True)
        next(stream)
        served.stop()
        wait_until(lambda: httpx.get(f"{served.base}/health").status_code == 503)
        served.stop()
        served.thread.join(20)
        assert not served.thread.is_alive()
    assert "Traceback" not in capfd.readouterr().err


def test_an_engine_that_ends_by_itself_ends_the_server(capfd):
    class Broken:
        def __init__(self, core: Any, max_waiting: int) -> None:
            pass

        async def run(self) -> None:
            raise KeyError("queue")

        def drain(self) -> None:
            pass

    with running(tiny(), own={"AsyncEngine": Broken}) as served:
        served.thread.join(20)
        assert not served.thread.is_alive()
        assert served.server.failed.is_set()
    assert "The engine's task has ended, so the server cannot answer any more: KeyError: 'queue'" in capfd.readouterr().err


# A student's own parts

NO_CHECK = '''def parse_params(body, *, chat, room):
    return SamplingParams(**{name: body[name] for name in ("max_tokens", "temperature", "seed", "stream") if name in body})
'''


@pytest.mark.slow
@pytest.mark.skipif(not find_day("serving").ready, reason="Day 18 has no lesson yet, so nobody can have solved it")
def test_what_of_a_students_own_passes_its_checks_serves(tmp_path):
    day = find_day("serving")
    path = lab.put_notebook(tmp_path, day, solved=True, changed={"parse_params": NO_CHECK})
    notebook = nbformat.read(path, as_version=4)
    cell = next(cell for cell in notebook.cells if "class AsyncEngine" in cell.source)
    cell.source = cell.source.replace("        self.core", '        print("this is my own AsyncEngine", flush=True)\n        self.core', 1)
    nbformat.write(notebook, path)
    with command("--model", "tiny", "--engine", "mine", env={"COURSE_WORK": str(tmp_path / "work")}) as served:
        assert "this is my own AsyncEngine" in served.printed
        line = "Yours: AsyncEngine, TextStream, sse_event, send_events. The course's, until yours pass their checks: parse_params."
        assert line in served.printed
        with pytest.raises(openai.BadRequestError):  # the course's own looks
            client(served.base).completions.create(model="tiny", prompt="O", temperature=3)
        text = client(served.base).completions.create(model="tiny", prompt="O", temperature=0, max_tokens=8).choices[0].text
        chunks = client(served.base).completions.create(model="tiny", prompt="O", temperature=0, max_tokens=8, stream=True)
        assert "".join(chunk.choices[0].text for chunk in chunks) == text


def test_without_a_notebook_there_is_nothing_of_ones_own(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COURSE_WORK", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["autograder", "serve", "--port", "0", "--model", "tiny", "--engine", "mine"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("autograder: ENGINE=mine: there is no notebook at ")


def test_one_line_says_whose_the_parts_are():
    assert whose({}) == (
        "Yours: nothing yet. The course's, until yours pass their checks: AsyncEngine, TextStream, parse_params, sse_event, send_events."
    )
    assert whose(dict.fromkeys(OWN)) == "Yours: AsyncEngine, TextStream, parse_params, sse_event, send_events."
