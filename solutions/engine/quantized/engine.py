"""The quantized engine: rows of tokens through `step.run`, in threads of its own that sleep between the passes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course.kit import paths
from solutions.batching import left_pad
from solutions.continuous_batching import Flat, Request
from solutions.engine.sampling import require_numbers
from solutions.engine.sequence import FlatWanted, flatten_wanted
from solutions.paging import PagedSequence

from .amx import SIDE, aligned, configuration
from .instruction_sets import AMX, NAMES, InstructionSet, available, best_instruction_set
from .kernels import BLOCK
from .step import AMX_ROWS, ROWS, run
from .weights import QuantizedModel

AMX_PROMPT = 16
"""Tokens of the shortest prompt that is read by AMX, which always multiplies 16 rows at a time."""


class Crew:
    """Threads that run one function together, each with its own number. Waiting threads do not use the processor."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.orders: list[SimpleQueue[Callable[[int], None] | None]] = [SimpleQueue() for _ in range(threads - 1)]
        self.done: SimpleQueue[BaseException | None] = SimpleQueue()
        for number, orders in enumerate(self.orders, 1):
            threading.Thread(target=self._work, args=(number, orders), daemon=True).start()

    def _work(self, number: int, orders: SimpleQueue[Callable[[int], None] | None]) -> None:
        while (job := orders.get()) is not None:
            try:
                job(number)
                self.done.put(None)
            except BaseException as error:
                self.done.put(error)
            del job  # it holds the engine, which may go while this thread waits

    def run(self, job: Callable[[int], None]) -> None:
        for orders in self.orders:
            orders.put(job)
        job(0)
        for error in [self.done.get() for _ in self.orders]:
            if error is not None:
                raise error

    def close(self) -> None:
        for orders in self.orders:
            orders.put(None)


@dataclass
class FlatPrompts(FlatWanted):
    """The chunks of a step, with the length of each chunk's prompt."""

    prompts: list[int]


def flatten_prompts(chunks: list[tuple[Request, int]]) -> FlatPrompts:
    """Return the tokens of a plan's chunks, as `flatten_wanted` does, and the lengths of the chunks' prompts."""
    flat = flatten_wanted(chunks)
    return FlatPrompts(flat.ids, flat.positions, flat.bounds, flat.wanted, [len(request.prompt) for request, _ in chunks])


class QuantizedEngine:
    """A decoder of `batch` rows of up to max_len tokens each, straight from a GGUF file's own blocks.

    Call prefill(ids, num_pad), then decode(ids) step by step, as with `StaticEngine`; `generate` does both. Weights keep the file's format.
    Inputs of a product are rounded to 8 bits, and the rounding error is rounded to 8 bits, too: two products of 8 bits give 16 bits in all.
    Keys and values are stored in float16; everything else, including the logits, is float32. A row's logits depend on its own text alone,
    to the last bit, and not on the rows beside it or the number of threads.

    With AMX the tokens of a prompt of 16 tokens or more are computed in pairs of bfloat16, which have 16 bits, too (`amx.py`). Shorter
    prompts, the tokens of an answer and guesses are computed as without AMX. How a token is computed therefore depends only on its position
    and its prompt's length. Its logits still do not depend on the chunks of the prompt or the rows beside it. Reading a text by `prefill`
    or token by token by `decode` gives logits that differ in their last bits; the mean KL of either to float32 is below 2e-6.
    """

    def __init__(
        self,
        path: Path | None = None,
        batch: int = 1,
        max_len: int = 2048,
        *,
        threads: int | None = None,
        isa: InstructionSet | None = None,
        model: QuantizedModel | None = None,
        guesses: int = 0,
    ) -> None:
        """Load the model, start the threads and allocate the cache.

        path: None means SmolLM2's file. threads: None means as many as torch's. isa: None means this processor's best instruction set.
        model: a model that another engine has read. guesses: the largest number of guesses for a row in one `verify`.

        Raises RuntimeError on a processor without kernels or without the requested isa, and ModelError for a file of an unsupported model.
        """
        self.isa = isa or best_instruction_set()
        if self.isa not in available():  # LLVM would end the process over it
            raise RuntimeError(f"this processor has no {NAMES[self.isa]}: leave isa out to use the best that it has")
        self.model = m = model or QuantizedModel(path or paths.SMOLLM2, len(self.isa))
        self.batch, self.max_len, self.lengths = batch, max_len, np.zeros(batch, np.int64)
        self.crew = Crew(threads or torch.get_num_threads())
        self.guesses = guesses
        self.rows = max(batch * (1 + guesses), AMX_ROWS if self.isa == AMX else ROWS)
        self.sizes = (m.layers, m.width, m.heads, m.key_heads, m.head_dim, m.inner, m.vocab_size, np.float32(m.epsilon))
        angles = np.outer(np.arange(max_len), m.base ** (-np.arange(0, m.head_dim, 2) / m.head_dim))
        self.tables = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        longest = -(-max_len // 32) * 32  # AMX reads whole groups of 32, and keys stand side by side, as many as a register has lanes
        self.cache = (
            np.zeros((m.layers, batch, m.key_heads, longest // len(self.isa), m.head_dim, len(self.isa)), np.uint16),
            np.zeros((m.layers, batch, m.key_heads, longest, m.head_dim), np.uint16),
        )
        self.work = self._work(self.rows, longest)
        self.amx = self._amx_work(self.rows, longest) if self.isa == AMX else None
        self.barrier = np.zeros(16, np.int64)

    def _work(self, rows: int, longest: int) -> tuple[Any, ...]:
        """Allocate the buffers that each pass overwrites: the rows' buffers, the threads' buffers, and the logits."""
        m, threads = self.model, self.crew.threads
        mixed = m.heads * m.head_dim
        floats = [(rows, m.width), (2 * rows, m.width), (2 * rows, mixed + 2 * m.key_heads * m.head_dim)]
        inputs = [(2 * rows, max(m.width, mixed) // 32 * BLOCK), (2 * rows, m.inner // 32 * BLOCK)]  # each row in two of 8 bits
        each = [(threads, 4, longest), (threads, 2, 2 * rows, 32), (threads, max(m.width, mixed))]
        made = [np.zeros(shape, np.float32) for shape in floats] + [np.zeros(shape, np.uint8) for shape in inputs]
        return *made, *(np.zeros(shape, np.float32) for shape in [*each, (2 * self.batch * (1 + self.guesses), m.vocab_size)])

    def _amx_work(self, rows: int, longest: int) -> tuple[Any, ...]:
        """Allocate AMX's buffers: the configuration, the operands of inputs of both widths, then the buffers of each thread.

        A thread's buffers are the panels of weights, keys and values, the operands of queries and of attention's shares, and attention's
        scores and results.
        """
        m, sets, threads = self.model, -(-rows // SIDE), self.crew.threads
        widths = max(m.width, m.heads * m.head_dim) // 32, m.inner // 32
        shapes: list[tuple[int, ...]] = [(sets, width, 2, SIDE, 32) for width in widths]
        shapes += [(threads, blocks, 2, 2, SIDE, 32) for blocks in (max(widths), longest // 16, longest // 16)]
        shapes += [(threads, groups, 2, SIDE, 32) for groups in (2, longest // 32)]
        made = [aligned(shape, np.uint16) for shape in shapes]
        scores = aligned((threads, SIDE, longest + SIDE), np.float32)  # a few more: rows a power of two apart share few lines of the cache
        return configuration(), *made, scores, aligned((threads, SIDE, 64), np.float32)

    def _run(self, ids: Any, sequences: Any, positions: Any, wanted: Any, prompts: Any = 0) -> Any:
        """Run one pass over rows ids (R,), each at a position of a sequence, and return the logits of the wanted rows.

        prompts: the lengths of the rows' prompts; 0 if no row is part of a prompt. The next pass overwrites the logits. If the state of a
        row is not finite at the end, all logits of its sequence are NaN. Without this, rounding to 8 bits would turn NaN into numbers.
        """
        ids, sequences, positions, wanted, prompts = (np.asarray(each, np.int64) for each in (ids, sequences, positions, wanted, prompts))
        by_amx = (positions < prompts) & (prompts >= AMX_PROMPT) & (self.amx is not None)
        self._clear_values(sequences[by_amx], positions[by_amx])
        order = np.argsort(~by_amx, kind="stable")
        rows = ids[order], sequences[order], positions[order], np.argsort(order)[wanted]
        runs = runs_of(*rows[1:3], by_amx.sum())
        model = (self.sizes, self.model.weights, self.tables, self.cache, self.work, self.amx)
        self.crew.run(lambda thread: run(self.isa, thread, self.crew.threads, self.barrier, *rows, runs, *model))
        logits, states = self.work[-1][: len(wanted)], self.work[0][: len(ids)]
        if not np.isfinite(states).all():
            damaged = rows[1][~np.isfinite(states).all(-1)]
            logits[np.isin(sequences[wanted], damaged)] = np.nan
        return logits

    def _clear_values(self, sequences: Any, positions: Any) -> None:
        """Clear the values after the last position of each sequence, in its group of 32.

        AMX multiplies whole groups. A share of 0 hides a value of an earlier text, but not a NaN.
        """
        for sequence in np.unique(sequences):
            end = positions[sequences == sequence].max() + 1
            self.cache[1][:, sequence, :, end : -(-end // 32) * 32] = 0

    def prefill(self, ids: Tensor, num_pad: Tensor | None = None) -> Tensor:
        """Start over with left-padded prompts: ids (B, T), num_pad (B,) or None for no padding -> logits (B, V).

        Raises ValueError if the number of rows is not the engine's, and for empty prompts, prompts longer than max_len, and invalid tokens.
        """
        pads = num_pad.numpy() if num_pad is not None else np.zeros(len(ids), np.int64)
        if (pads >= ids.shape[1]).any():
            raise ValueError(f"prompt {(pads >= ids.shape[1]).argmax()} is empty: the first token has to come from somewhere")
        rows = self._checked(ids)
        if rows.shape[1] > self.max_len:
            raise ValueError(f"{rows.shape[1]} tokens do not fit into max_len = {self.max_len}: make the engine with a longer max_len")
        logits = np.empty((len(rows), self.model.vocab_size), np.float32)
        for row, (tokens, pad) in enumerate(zip(rows, pads, strict=True)):
            text = tokens[pad:]
            for first in range(0, len(text), self.rows):
                part = text[first : first + self.rows]
                last = first + len(part) == len(text)
                wanted = [len(part) - 1] if last else []
                got = self._run(part, np.full(len(part), row), np.arange(first, first + len(part)), wanted, len(text))
            logits[row] = got[0]
            self.lengths[row] = len(text)
        return torch.from_numpy(logits)

    def decode(self, ids: Tensor) -> Tensor:
        """Read the newest token of every row: ids (B, 1) -> logits (B, V).

        Raises ValueError if no slot is left, if the number of rows is not the engine's, and for invalid tokens.
        """
        if self.lengths.max() == self.max_len:
            raise ValueError(f"all max_len = {self.max_len} slots are taken: make the engine with a longer max_len")
        batch = np.arange(self.batch)
        logits = self._run(self._checked(ids)[:, 0], batch, self.lengths, batch)
        self.lengths += 1
        return torch.from_numpy(logits.copy())

    def verify(self, tokens: Sequence[Sequence[int]]) -> list[Tensor]:
        """Read each row's newest token and the guesses after it in one pass: row r's 1 + k tokens -> the logits after each, (1 + k, V).

        A row without tokens is left out, (0, V). The text is unchanged until `keep` says how many of the tokens become part of it. The next
        pass overwrites the other tokens. Raises ValueError if a row has no room or too many guesses, and for invalid tokens.
        """
        sizes = [len(each) for each in tokens]
        for row, size in enumerate(sizes):
            if size > 1 + self.guesses:
                raise ValueError(f"row {row} has {size - 1} guesses, but this engine allows {self.guesses}: make an engine with more")
            if self.lengths[row] + size > self.max_len:
                raise ValueError(f"row {row} has no room for {size} tokens in max_len = {self.max_len}: make one with a longer max_len")
        rows = np.repeat(np.arange(len(tokens)), sizes)
        positions = np.concatenate([self.lengths[row] + np.arange(size) for row, size in enumerate(sizes)])
        ids = self._known(np.concatenate([np.asarray(each, np.int64) for each in tokens]))
        logits = torch.from_numpy(self._run(ids, rows, positions, np.arange(len(ids))).copy())
        return list(logits.split(sizes))

    def keep(self, counts: Sequence[int]) -> None:
        """Add the first `counts` tokens of each row's last `verify` to its text."""
        self.lengths += np.asarray(counts, np.int64)

    def logits(self, ids: Tensor) -> Tensor:
        """Start over with one text ids (1, T), and return the logits after each of its tokens, (T, V).

        Raises ValueError as `prefill` and `decode` do; the engine must have one row.
        """
        return torch.cat([self.prefill(ids[:, :1]), *(self.decode(ids[:, i : i + 1]) for i in range(1, ids.shape[1]))])

    def forward(self, flat: Flat, sequences: list[PagedSequence]) -> Tensor:
        """Run a pass for chunks of texts -> logits (W, V) after the wanted tokens, as the `forward` of a `ServingEngine`.

        Each text is in one block of max_len tokens; the block's number is the text's row in this engine. R <= batch chunks have at most
        `rows` tokens together.
        """
        assert isinstance(flat, FlatPrompts)  # as `flatten_prompts` makes it
        sizes = [end - start for start, end in pairwise(flat.bounds)]
        rows = np.repeat([sequence.blocks[0] for sequence in sequences], sizes)
        if 2 * len(flat.wanted) > len(self.work[-1]):  # a prompt is read whose tokens are all wanted
            self.work = (*self.work[:-1], np.zeros((2 * self.rows, self.model.vocab_size), np.float32))
        prompts = np.repeat(flat.prompts, sizes)
        return torch.from_numpy(self._run(flat.ids[0], rows, flat.positions, flat.wanted, prompts).copy())

    def compile(self) -> None:
        """Compile the kernels or load them from the cache, by running a pass of one token in row 0.

        Without this call the first pass compiles or loads the kernels.
        """
        crew, self.crew = self.crew, Crew(1)  # by this thread alone: an interrupt must not leave others waiting for it
        try:
            self._run([0], [0], [0], [0])
        finally:
            self.crew = crew

    def close(self) -> None:
        """End the threads, which would otherwise end with the process."""
        self.crew.close()

    def _checked(self, ids: Tensor) -> Any:
        rows = ids.numpy()
        if len(rows) != self.batch:
            raise ValueError(f"the engine was made for {self.batch} rows, got {len(rows)}: make another one")
        return self._known(rows)

    def _known(self, tokens: Any) -> Any:
        for token in (tokens.min(), tokens.max()):
            if not 0 <= token < self.model.vocab_size:
                raise ValueError(f"token {token} is not one of this model's, 0 to {self.model.vocab_size - 1}")
        return tokens

    def generate(self, prompts: Sequence[Sequence[int]], max_new_tokens: int) -> Tensor:
        """Return the most probable tokens after each prompt, (B, max_new_tokens)."""
        tokens = [likeliest(self.prefill(*left_pad([list(prompt) for prompt in prompts], 0)))]
        while len(tokens) < max_new_tokens:
            tokens.append(likeliest(self.decode(tokens[-1])))
        return torch.cat(tokens, dim=1)


def runs_of(sequences: Any, positions: Any, count: int) -> Any:
    """Return the first rows of all runs among the first `count` rows, followed by `count`.

    A run is up to 16 rows that follow each other in one text.
    """
    breaks = (np.diff(sequences[:count]) != 0) | (np.diff(positions[:count]) != 1)
    bounds = [0, *(np.flatnonzero(breaks) + 1), count]
    return np.array([run for begin, end in pairwise(bounds) for run in range(begin, end, SIDE)] + [count])


def likeliest(logits: Tensor) -> Tensor:
    """Return the most probable token of each row: (B, V) -> (B, 1). Raises ModelError if a row's best logit is not finite.

    numpy's argmax takes a tenth of the time of torch's argmax.
    """
    best = logits.numpy().argmax(-1, keepdims=True)
    require_numbers(logits.numpy(), best)
    return torch.from_numpy(best)
