"""`Engine`: text in, text out.

Tokens come from a `ServingEngine`; here they become text, piece by piece, until an answer ends.
"""

from __future__ import annotations

import math
import signal
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import torch

from course.kit import ChatMessage, Tokenizer, WeightsOnly
from course.kit.errors import ModelError
from solutions.engine.backend import Kind, choose
from solutions.engine.sequence import Request
from solutions.engine.serving import Failure
from solutions.steering import StopStrings
from solutions.tokenizer import StreamDecoder, render_chat

Prompt = str | Sequence[int] | Sequence[dict[str, str]] | Sequence[ChatMessage]
"""Text, token ids, or the messages of a conversation."""
FinishReason = Literal["eos", "stop", "length"]


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """The settings of an answer: how tokens are drawn, and where the answer ends.

    temperature 0 is greedy: always the most probable token. top_k, top_p and min_p remove improbable tokens; None switches each off.
    Penalties make tokens that have already occurred less likely. repetition_penalty is a factor for tokens of prompt and answer; the other
    two apply to tokens of the answer only. seed: a number, or for a list of prompts also a list with a seed for each. With one number for a
    list, equal prompts get equal answers. With None, each call draws another answer. stop: strings before which the text ends.
    eos_token_id: the token that ends an answer; "model" means the model's own, None means none. Raises ValueError for an invalid value.
    """

    max_new_tokens: int = 256
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | list[int] | tuple[int, ...] | None = None
    stop: str | list[str] | tuple[str, ...] = ()
    eos_token_id: int | Literal["model"] | None = "model"

    def __post_init__(self) -> None:
        for name in (*DRAWING, "repetition_penalty", "presence_penalty", "frequency_penalty"):
            value = getattr(self, name)
            if value is None and name in ("top_k", "top_p", "min_p"):
                continue
            if not isinstance(value, Integral if name == "top_k" else Real) or not math.isfinite(value):
                raise ValueError(f"{name} must be a {'whole' if name == 'top_k' else 'finite'} number, got {value!r}")
        if not isinstance(self.max_new_tokens, Integral) or self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be a whole number of 1 or more, got {self.max_new_tokens!r}")
        for seed in self.seed if isinstance(self.seed, list | tuple) else [self.seed]:
            if seed is not None and not (isinstance(seed, Integral) and 0 <= seed < 2**63):
                raise ValueError(f"seed must be a whole number from 0 to 2**63 - 1, or a list of them, got {seed!r}")
        if not isinstance(self.stop, str | list | tuple) or not all(isinstance(stop, str) and stop for stop in self.stops):
            raise ValueError(f"stop must be a non-empty string or a list of them, got {self.stop!r}")

    @property
    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else list(self.stop)


DRAWING = ("temperature", "top_k", "top_p", "min_p")
PENALTIES = ("repetition_penalty", "presence_penalty", "frequency_penalty")


@dataclass(frozen=True)
class Answer:
    """A model's answer. `str(answer)` is its text.

    text: without the stop string and the EOS. ids: every token that was drawn, including the EOS and the tokens of the stop string.
    finish_reason: "eos" for the EOS, "stop" for a stop string, "length" for max_new_tokens or a text as long as the engine's max_len.
    """

    text: str
    ids: list[int]
    finish_reason: FinishReason

    def __str__(self) -> str:
        return self.text


class Writer:
    """A request whose tokens become text.

    pieces: the text that has not been taken yet, in whole characters and without any part of a stop string. error: the error that ended
    the request, or None.
    """

    def __init__(self, request: Request, tokenizer: Tokenizer, stops: list[str]) -> None:
        self.request = request
        self.pieces: list[str] = []
        self.finish_reason: FinishReason | None = None
        self.error: ModelError | None = None
        self._decoder, self._stops = StreamDecoder(tokenizer), StopStrings(stops)

    def push(self, token: int, ended: bool) -> None:
        """Append the request's next token. ended: True if it is the last one."""
        eos = token == self.request.eos_token_id
        text, stopped = ("", False) if eos else self._stops.push(self._decoder.push(token))
        if ended and not stopped:
            rest, stopped = self._stops.push(self._decoder.flush())  # bytes of a character that never became whole
            text += rest + self._stops.flush()
        self.pieces.append(text)
        if stopped or ended:
            self.finish_reason = "stop" if stopped else "eos" if eos else "length"

    def take(self) -> str:
        """Return the text written since the last call."""
        text, self.pieces = "".join(self.pieces), []
        return text


class Engine:
    """A language model that answers: text in, text out, as fast as the course's engines can on this machine.

        engine = Engine()                                    # SmolLM2; prints which engine was chosen, and why
        print(engine.generate("The capital of France is", max_new_tokens=8))
        first, second = engine.generate(["One", "Two"], temperature=0.8, top_p=0.9, seed=1, stop="\\n")
        for piece in engine.stream([{"role": "user", "content": "Who are you?"}]):
            print(piece, end="", flush=True)

    A prompt is text, a list of token ids, or a conversation: a list of messages, formatted with the model's chat template. `generate` takes
    one prompt and returns one `Answer`, or takes a list and returns a list. A list may have any number of prompts: the engine computes
    `rows` of them side by side, and a waiting prompt takes the place of one that has ended. The answer to a prompt does not depend on the
    prompts beside it, except for rounding if the engine computes in floating point. The same seed gives the same answer.

    An engine must not be used by several threads at a time. An interrupt takes effect at the end of a step, and the engine can still answer
    afterwards.
    """

    def __init__(
        self,
        model: str | Path | WeightsOnly = "smollm2",
        *,
        dtype: Kind = "auto",
        rows: int = 8,
        max_len: int | None = None,
        threads: int | None = None,
        products: str | None = None,
    ) -> None:
        """Load a model: "smollm2", "tiny", the path of a .gguf file or a Hugging Face folder, or a model that the kit has loaded.

        dtype: "auto" decodes straight from a .gguf file's blocks of 4 bits if file and processor allow it, and otherwise computes in
        float32; a loaded model answers with its own weights in its own dtype. "quantized" requires blocks; a torch.dtype computes in that
        dtype. rows: the number of prompts computed side by side. max_len: the limit of tokens in a text; None means 2048 or the model's
        limit. threads: None means as many as torch's. products: the way to multiply, "linear" or another way of `matmul.py`. None chooses
        the fastest way, which is timed for a few seconds once in a process and printed. "onnxruntime" multiplies with a .gguf file's blocks
        instead. Another process may choose another way and round differently: name a way to get the same rounding everywhere.
        `engine.products` has the choice for each matrix shape. For a file's blocks the choice is empty, except with onnxruntime.

        Raises ModelError, ValueError or RuntimeError, with one line that includes the remedy.
        """
        for name, value in (("rows", rows), ("threads", threads)):
            if value is not None and (not isinstance(value, Integral) or value < 1):
                raise ValueError(f"{name} must be a whole number of 1 or more, got {value!r}")
        self.threads = threads or torch.get_num_threads()
        with _torch_threads(self.threads):
            chosen = choose(model, dtype, rows=rows, max_len=max_len, threads=self.threads, way=products)
        self.config, self.tokenizer, self.max_len, self.description = chosen.config, chosen.tokenizer, chosen.max_len, chosen.line
        self._device, self._serving = chosen.device, chosen.serving
        self._writers: dict[Request, Writer] = {}
        weakref.finalize(self, chosen.close)
        self.products = {} if chosen.products is None else chosen.products.choices
        print(self.description)
        if chosen.products is not None:
            print(chosen.products.line)

    def generate(self, prompts: Prompt | Sequence[Prompt], params: SamplingParams = SamplingParams(), **changes: Any) -> Any:
        """Answer one prompt with an `Answer`, or a list of prompts with a list of answers in the same order.

        The settings are params, or its fields by name: max_new_tokens=256, temperature=0.0, top_k, top_p, min_p, repetition_penalty,
        presence_penalty, frequency_penalty, seed, stop, eos_token_id. An answer ends after max_new_tokens, at a stop string, at the EOS, or
        when max_len leaves no room. Raises ValueError for invalid settings, an empty list, an empty or too long prompt, and an invalid
        token, and TypeError for an object that is not a prompt. Nothing is computed in these cases. Raises ModelError if the model's
        logits for one of the prompts are not a distribution; open streams go on.
        """
        batch, alone = _separate(prompts)
        writers = self._writers_for(batch, alone, replace(params, **changes))
        try:
            for writer in writers:
                self._add(writer)
            while not all(writer.finish_reason for writer in writers):
                self._step()
                for writer in writers:
                    if writer.error is not None:
                        raise writer.error
        finally:
            for writer in writers:
                self._forget(writer)
        answers = [Answer(writer.take(), writer.request.output, writer.finish_reason) for writer in writers if writer.finish_reason]
        return answers[0] if alone else answers

    def stream(self, prompt: Prompt, params: SamplingParams = SamplingParams(), **changes: Any) -> Iterator[str]:
        """Yield the text that `generate` returns for one prompt, each piece as soon as its text is certain.

        Settings and errors are those of `generate`; a list of prompts is a ValueError. A piece has whole characters and no part of a stop
        string. The model computes only when a piece is requested. Several streams may be open at a time and share their steps. If a shared
        step fails, the other streams raise RuntimeError. A stream that is closed or dropped costs nothing from then on.
        """
        batch, alone = _separate(prompt)
        if not alone:
            raise ValueError(f"stream takes one prompt, got a list of {len(batch)}: use generate for several prompts")
        return self._pieces(*self._writers_for(batch, alone, replace(params, **changes)))

    def _pieces(self, writer: Writer) -> Iterator[str]:
        try:
            self._add(writer)
            while True:
                if piece := writer.take():
                    yield piece
                elif writer.finish_reason:
                    return
                elif writer.error is not None:
                    raise writer.error
                elif writer.request not in self._writers:
                    raise RuntimeError("this answer was cancelled: a step that it shared with other answers failed")
                else:
                    self._step()
        finally:
            self._forget(writer)

    def _add(self, writer: Writer) -> None:
        self._writers[writer.request] = writer  # first: an interrupt may come between
        self._serving.add(writer.request)

    def _forget(self, writer: Writer) -> None:
        """Abort a request that has not ended by itself."""
        if self._writers.pop(writer.request, None) and not writer.finish_reason:
            with suppress(ValueError):  # where it is not, or no longer, with the scheduler
                self._serving.abort(writer.request)

    def _step(self) -> None:
        """Run one step for all open requests. If the step fails, all these requests are given up."""
        with _uninterrupted(), _torch_threads(self.threads):
            try:
                for new in self._serving.step():
                    writer = self._writers[new.request]
                    if isinstance(new, Failure):
                        writer.error = new.error
                        del self._writers[new.request]
                        continue
                    writer.push(new.token, new.ended)
                    if writer.finish_reason and not new.ended:
                        self._serving.abort(new.request)
            except Exception:
                for writer in list(self._writers.values()):
                    self._forget(writer)
                raise

    def _writers_for(self, prompts: Sequence[Prompt], alone: bool, params: SamplingParams) -> list[Writer]:
        """Return a writer for each prompt. Raises the errors of `generate`, before anything is computed."""
        seeds = list(params.seed) if isinstance(params.seed, list | tuple) else [params.seed] * len(prompts)
        if len(seeds) != len(prompts):
            raise ValueError(f"{len(seeds)} seeds for {len(prompts)} prompts: give one for each, or one for all")
        eos = self.tokenizer.eos_token_id if params.eos_token_id == "model" else params.eos_token_id
        self._check_tokens([eos] if eos is not None else [], "eos_token_id")
        writers = []
        for i, (prompt, seed) in enumerate(zip(prompts, seeds, strict=True)):
            name = "the prompt" if alone else f"prompt {i}"
            ids = self._ids(prompt, name)
            generator = torch.Generator(self._device)
            generator.seed() if seed is None else generator.manual_seed(int(seed))
            request = Request(
                ids,
                min(params.max_new_tokens, self.max_len - len(ids) + 1),  # the last token is said, and not read
                eos_token_id=eos,
                generator=generator,
                **{setting: getattr(params, setting) for setting in DRAWING + PENALTIES},
            )
            writers.append(Writer(request, self.tokenizer, params.stops))
        return writers

    def _ids(self, prompt: Any, name: str) -> list[int]:
        """Return a prompt's token ids, checked against the model's vocabulary."""
        prompt = _listed(prompt, name)
        if not isinstance(prompt, str) and prompt and _is_message(prompt[0]):
            prompt = self._conversation(prompt, name)
        try:
            if isinstance(prompt, str):
                prompt.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{name} has half of a surrogate pair, which is not a valid character") from None
        ids = self.tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt)
        if not ids:
            raise ValueError(f"{name} is empty: the first token has to come from somewhere")
        self._check_tokens(ids, name)
        if len(ids) > self.max_len:
            raise ValueError(f"{name} has {len(ids):,} tokens, the engine reads {self.max_len:,}: shorten it, or raise Engine's max_len")
        return ids

    def _conversation(self, messages: Sequence[Any], name: str) -> str:
        """Return the messages in the template that the model was trained with, up to the start of the assistant's turn."""
        if "<|im_start|>" not in self.tokenizer.special_tokens:
            raise ValueError(f"{name} is a conversation, but {self.config.name} has no <|im_start|>: give text in that model's template")
        dicts = [vars(message) if isinstance(message, ChatMessage) else message for message in messages]
        for message in dicts:
            if not isinstance(message, dict) or not all(isinstance(message.get(key), str) for key in ("role", "content")):
                raise ValueError(f"a message has a role and a content, both text, got {message!r:.60}")
        return render_chat(dicts)

    def _check_tokens(self, ids: Sequence[Any], name: str) -> None:
        last = self.config.vocab_size - 1
        for token in ids:
            if not isinstance(token, Integral) or not 0 <= int(token) <= last:
                raise ValueError(f"token {token!r} of {name} is not one of this model's, 0 to {last}")

    def __repr__(self) -> str:
        return f"<{self.description}>"


def _separate(prompts: Any) -> tuple[Sequence[Any], bool]:
    """Return (the prompts as a list, True if the argument was a single prompt). A prompt is text, whole numbers or messages.

    Raises ValueError for an empty list, and TypeError for an object that is not a prompt.
    """
    prompts = _listed(prompts, "a prompt")
    if isinstance(prompts, str):
        return [prompts], True
    if not prompts:
        raise ValueError("there is no prompt: the list is empty")
    alone = isinstance(prompts[0], Integral) or _is_message(prompts[0])
    return ([prompts], True) if alone else (prompts, False)


def _listed(prompt: Any, name: str) -> str | Sequence[Any]:
    """Return a tensor or an array as a list, and text and lists unchanged. Raises TypeError for everything else."""
    if hasattr(prompt, "tolist"):
        prompt = prompt.tolist()
    if isinstance(prompt, bytes) or not isinstance(prompt, str | Sequence):
        raise TypeError(f"{name} must be text, a list of token ids or a list of messages, got {prompt!r:.60}")
    return prompt


def _is_message(value: Any) -> bool:
    return isinstance(value, dict | ChatMessage)


@contextmanager
def _torch_threads(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay an interrupt until the end of the block.

    An interrupted step would leave texts that do not match their cache, and a thread that waits for another for ever.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    came: list[Any] = []
    before = signal.signal(signal.SIGINT, lambda *arguments: came.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
