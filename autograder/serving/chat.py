"""`autograder chat`: SmolLM2 in a terminal, through functions that the days teach, or through a student's own in their place.

Day 2 renders the conversation, Day 10's cache reads it and decodes, Day 5 draws each token, Day 18 turns them into text. The
cache is reused from answer to answer, so that of a longer conversation only the new tokens are read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TextIO

import torch

from course.kit import load_model
from course.kit.errors import ModelError
from course.kit.serving.messages import SamplingParams
from solutions import kv_cache, samplers, serving, tokenizer

from ..base.errors import CourseError
from ..base.wording import counted
from ..lessons import find_day
from ..notebook.earlier import own_functions

TAKEN = {
    "tokenizer": (tokenizer, ("render_chat",)),
    "samplers": (samplers, ("sample_next_token",)),
    "kv_cache": (kv_cache, ("KVCache", "prefill", "decode_step")),
    "serving": (serving, ("TextStream",)),
}
"""The parts of the chat: {topic: (the module of the course's own answers, the names that the chat uses)}."""
MAX_LEN = 4096
"""The tokens of a conversation, if the model does not limit it further: SmolLM2's cache has 46,080 bytes for each, in float32."""
END, RESTART = "/quit", "/new"


def parts(mine: bool) -> tuple[Any, list[str]]:
    """Return (the functions by name, lines that say whose they are). mine: whether to use a student's functions that pass."""
    found: dict[str, Any] = {}
    lines: list[str] = []
    for topic, (module, names) in TAKEN.items():
        day = find_day(topic)
        of_day = own_functions(day) if mine and day.ready else None
        where, own = of_day if of_day is not None else (module, [])
        found |= {name: getattr(where, name) for name in names}
        for whose, some in (("your own", [n for n in names if n in own]), ("the course’s", [n for n in names if n not in own])):
            if some:
                lines.append(f"Day {day.number}: {', '.join(some)} ({whose})")
    return SimpleNamespace(**found), lines


@dataclass
class Answer:
    """The result of a question. seconds: the time of the num_tokens - 1 decode steps, from the first token to the last."""

    text: str = ""
    num_tokens: int = 0
    num_read: int = 0
    first_seconds: float = 0.0
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def line(self) -> str:
        speed = f", {(self.num_tokens - 1) / self.seconds:.1f} tokens/s" if self.num_tokens > 1 and self.seconds > 0 else ""
        return f"[{self.num_read} read, first token after {self.first_seconds:.2f} s; {self.num_tokens} made{speed}]"


@dataclass
class Conversation:
    """One conversation with a model, and the cache with the tokens that the model has read."""

    model: Any
    parts: Any
    max_len: int
    temperature: float
    top_p: float
    max_tokens: int
    generator: torch.Generator | None = None
    messages: list[dict[str, str]] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    """The tokens whose keys and values are in the cache."""
    cache: Any = None

    def ask(self, question: str, show: Callable[[str], None]) -> Answer:
        """Show the model's answer in pieces, as they are generated, and return the answer.

        A KeyboardInterrupt ends the answer; the text so far then is the answer. Raises CourseError, and forgets the question, if the
        conversation has become too long for the cache.
        """
        messages = [*self.messages, {"role": "user", "content": question}]
        ids = self.model.tokenizer.encode(self.parts.render_chat(messages))
        if len(ids) >= self.max_len:
            raise CourseError(f"the conversation has {len(ids)} tokens, and the cache holds {self.max_len}: {RESTART} starts a new one")
        made = Answer()
        limit = min(self.max_tokens, self.max_len - len(ids))
        stream = self.parts.TextStream(self.model.tokenizer, SamplingParams(max_tokens=limit))
        begin = time.perf_counter()
        try:
            for token in self.tokens(ids, made):
                if made.num_tokens == 0:
                    made.first_seconds = time.perf_counter() - begin
                made.num_tokens += 1
                piece = stream.push(token)
                made.text += piece
                show(piece)
                if stream.finish_reason:
                    break
        except KeyboardInterrupt:
            made.interrupted = True
            self.read, self.cache = [], None  # a step may have been left half done
        made.seconds = time.perf_counter() - begin - made.first_seconds
        self.messages = [*messages, {"role": "assistant", "content": made.text}]
        return made

    def tokens(self, ids: list[int], made: Answer) -> Iterator[int]:
        """Yield the answer's tokens, the first from one prefill of the new tokens, the others from decode steps."""
        if self.cache is None:
            self.cache = self.parts.KVCache(self.model.config, 1, self.max_len)
        if not self.read or ids[: len(self.read)] != self.read or len(ids) == len(self.read):
            self.cache.reset()
            self.read = []
        new = ids[len(self.read) :]
        made.num_read = len(new)
        step = self.parts.prefill
        while True:
            with torch.no_grad():
                logits = step(self.model, torch.tensor([new]), self.cache)
                self.read = self.read + new
                drawn = self.parts.sample_next_token(logits, temperature=self.temperature, top_p=self.top_p, generator=self.generator)
            new = [int(drawn)]
            yield new[0]
            step = self.parts.decode_step


def chat(
    *, model: str, mine: bool, temperature: float, top_p: float, max_tokens: int, seed: int | None, source: TextIO, out: TextIO
) -> None:
    """Read questions and answer them until `source` ends, says /quit, or is interrupted between answers. Raises CourseError, one line."""

    def say(text: str) -> None:
        print(text, end="", file=out, flush=True)

    given, whose = parts(mine)
    try:
        loaded = load_model(model)
    except (ModelError, OSError) as error:
        raise CourseError(str(error)) from None
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    max_len = min(MAX_LEN, loaded.config.max_position_embeddings)
    begun = Conversation(loaded, given, max_len, temperature, top_p, max_tokens, generator)
    say(f"{model}, {counted(torch.get_num_threads(), 'thread')}, float32.\n" + "".join(f"{line}\n" for line in whose))
    say(f"{RESTART} starts again, {END} ends; Ctrl-C ends an answer, or the chat if none is running.\n")
    while True:
        try:
            say("\n> ")
            line = source.readline()
        except KeyboardInterrupt:
            line = ""
        question = line.strip()
        if not line or question == END:
            say("\n" if not line else "")
            return
        if question == RESTART:
            begun.messages = []
        elif question:
            try:
                made = begun.ask(question, say)
            except CourseError as error:
                say(f"{error}\n")
            else:
                say(f"{' [ended]' if made.interrupted else ''}\n{made.line}\n")

