"""`autograder chat`: what it answers is what the days' functions make, it streams, and Ctrl-C ends an answer before it ends the chat."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
from typing import Any

import pytest
import torch

from autograder.base.errors import CourseError
from autograder.serving import chat as chatting
from autograder.serving.chat import TAKEN, Answer, Conversation, chat, parts
from course.kit import load_model
from course.kit.paths import SMOLLM2
from solutions.kv_cache import generate_cached
from solutions.tokenizer import render_chat

from ..support.served import AUTOGRADER


@pytest.fixture(scope="module")
def tiny() -> Any:
    return load_model("tiny")


def conversation(model: Any, **changed: Any) -> Conversation:
    settings: dict[str, Any] = {"max_len": 512, "temperature": 0.0, "top_p": 1.0, "max_tokens": 12}
    return Conversation(model, parts(mine=False)[0], **{**settings, **changed})


def greedy(model: Any, messages: list[dict[str, str]], num: int) -> str:
    ids = torch.tensor([model.tokenizer.encode(render_chat(messages))])
    end = model.tokenizer.eos_token_id
    out = generate_cached(model, ids, max_new_tokens=num, block_size=512, temperature=0.0, eos_token_id=end)[0, ids.shape[1] :].tolist()
    return model.tokenizer.decode([token for token in out if token != end])


def test_an_answer_is_what_the_functions_of_the_days_make_and_the_next_question_reads_only_what_is_new(tiny):
    talk, pieces = conversation(tiny), []
    first = talk.ask("Once upon a time", pieces.append)
    assert first.text == "".join(pieces) == greedy(tiny, talk.messages[:1], 12)
    assert len(pieces) > 3  # it streams
    second = talk.ask("And then?", pieces.append)
    assert second.text == greedy(tiny, talk.messages[:3], 12)
    whole = len(tiny.tokenizer.encode(render_chat(talk.messages[:3])))
    assert first.num_read == len(tiny.tokenizer.encode(render_chat(talk.messages[:1])))
    assert second.num_read <= whole
    if tiny.tokenizer.encode(first.text) == talk.read[first.num_read : first.num_read + first.num_tokens - 1]:
        assert second.num_read < whole


def test_an_answer_that_is_interrupted_counts_as_it_stands_and_the_chat_goes_on(tiny):
    talk, shown = conversation(tiny), []

    def interrupted(piece: str) -> None:
        shown.append(piece)
        if len(shown) == 3:
            raise KeyboardInterrupt

    made = talk.ask("Once upon a time", interrupted)
    assert made.interrupted
    assert talk.messages[-1] == {"role": "assistant", "content": "".join(shown)}
    again = talk.ask("And then?", lambda piece: None)
    assert again.text == greedy(tiny, talk.messages[:3], 12)


def test_a_conversation_that_is_too_long_says_what_to_do_and_forgets_the_question(tiny):
    talk = conversation(tiny, max_len=64)
    with pytest.raises(CourseError, match="the cache holds 64: /new starts a new one"):
        talk.ask("word " * 100, lambda piece: None)
    assert talk.messages == []


def test_the_speed_is_that_of_the_decode_steps():
    assert Answer(num_tokens=11, num_read=5, first_seconds=0.5, seconds=2.0).line == (
        "[5 read, first token after 0.50 s; 11 made, 5.0 tokens/s]"
    )
    assert Answer(num_tokens=1, num_read=5, first_seconds=0.5).line == "[5 read, first token after 0.50 s; 1 made]"


def test_mine_takes_what_passes_its_checks_and_says_so(monkeypatch):
    class Own:
        @staticmethod
        def sample_next_token(logits: torch.Tensor, **settings: Any) -> torch.Tensor:
            return torch.tensor([[0]])

    monkeypatch.setattr(chatting, "own_functions", lambda day: (Own, ["sample_next_token"]) if day.topic == "samplers" else None)
    found, lines = parts(mine=True)
    assert found.sample_next_token is Own.sample_next_token
    assert found.prefill is TAKEN["kv_cache"][0].prefill
    assert "Day 5: sample_next_token (your own)" in lines
    assert "Day 10: KVCache, prefill, decode_step (the course’s)" in lines
    assert parts(mine=False)[0].sample_next_token is TAKEN["samplers"][0].sample_next_token


def test_what_is_said_to_a_pipe():
    settings: dict[str, Any] = {"model": "tiny", "mine": False, "temperature": 0.0, "top_p": 1.0, "max_tokens": 5, "seed": 1}
    out = io.StringIO()
    chat(**settings, source=io.StringIO("Once\n\n/new\nOnce\n/quit\nnever\n"), out=out)
    answers = re.findall(r"> (.*)\n\[(\d+) read, .*; (\d+) made", out.getvalue())
    assert len(answers) == 2
    assert answers[0] == answers[1]  # /new begins anew
    assert "never" not in out.getvalue()
    with pytest.raises(CourseError, match=r"nowhere\.gguf"):
        chat(**{**settings, "model": "/nowhere.gguf"}, source=io.StringIO(), out=out)


@pytest.mark.slow
def test_ctrl_c_ends_an_answer_and_then_the_chat():
    model = "smollm2" if SMOLLM2.exists() else "tiny"  # the small one may have said all before the signal comes
    command = [str(AUTOGRADER), "chat", "--model", model, "--max-tokens", "450", "--temperature", "1", "--seed", "3"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as process:
        try:
            said = read_until(process, b"\n> ")
            assert b"/quit ends" in said
            for _ in range(5):  # even so
                process.stdin.write(b"Tell me a long story about a lighthouse and its keeper.\n")
                process.stdin.flush()
                read_until(process, b" ")  # it speaks
                process.send_signal(signal.SIGINT)
                said = read_until(process, b"\n> ")
                if b"[ended]" in said:
                    break
            assert b"[ended]" in said
            assert b"tokens/s]" in said
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()


def read_until(process: subprocess.Popen[bytes], end: bytes) -> bytes:
    said = b""
    while not said.endswith(end):
        byte = os.read(process.stdout.fileno(), 1)
        assert byte, said
        said += byte
    return said
