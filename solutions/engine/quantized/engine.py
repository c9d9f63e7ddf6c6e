"""The quantized engine: rows of tokens through `step.run`, by threads of our own that sleep between the passes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch
from llvmlite import binding
from torch import Tensor

from course.kit import paths

from .kernels import BLOCK
from .step import MAX_ROWS, run
from .vectors import AVX2, AVX512
from .weights import QuantizedModel


def instruction_set() -> tuple[str, tuple[int, ...]] | None:
    """The best of those that the kernels are written for and this processor has, with its name; None where it has neither."""
    has = binding.get_host_cpu_features()
    if has.get("avx512vnni") and has.get("avx512bw") and has.get("avx512vl"):
        return "AVX-512 with VNNI", AVX512
    if has.get("avx2") and has.get("fma") and has.get("f16c"):
        return "AVX2", AVX2
    return None


class Crew:
    """Threads that run one function together, each with its number. They wait without using the processor."""

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


class QuantizedEngine:
    """Decoding of `batch` rows of up to max_len tokens each, from a GGUF file's own blocks.

    prefill(ids, num_pad), then decode(ids) step by step, as `Engine` has them; logits are float32. Keys and values are kept in float16.
    """

    def __init__(
        self, path: Path | None = None, batch: int = 1, max_len: int = 2048, *, threads: int | None = None, isa: tuple[int, ...] | None = None,
        model: QuantizedModel | None = None,
    ) -> None:
        """threads: as many as there are cores, if None. isa: the best of this processor, if None. Raises ModelError, RuntimeError."""
        found = instruction_set()
        if found is None:
            raise RuntimeError("the quantized engine needs AVX2, or AVX-512 with VNNI; this processor has neither")
        self.isa = isa or found[1]
        lanes = len(self.isa)
        self.model = m = model or QuantizedModel(path or paths.SMOLLM2, lanes)
        self.batch, self.max_len = batch, max_len
        self.crew = Crew(threads or len(os.sched_getaffinity(0)))
        count = self.crew.threads
        blocks = -(-max_len // lanes)
        R = min(MAX_ROWS, max(batch, 32))
        self.rows = max(R, batch)
        f32, heads = np.float32, m.heads + 2 * m.key_heads
        angles = np.outer(np.arange(max_len), m.base ** (-np.arange(0, m.head_dim, 2) / m.head_dim))
        self.sizes = (m.layers, m.width, m.heads, m.key_heads, m.head_dim, m.inner, m.vocab_size, f32(m.epsilon))
        self.tables = (np.cos(angles).astype(f32), np.sin(angles).astype(f32))
        self.cache = (
            np.zeros((m.layers, batch, m.key_heads, blocks, m.head_dim, lanes), np.uint16),
            np.zeros((m.layers, batch, m.key_heads, max_len, m.head_dim), np.uint16),
        )
        n = self.rows
        self.work = (
            np.zeros((n, m.width), f32), np.zeros((n, m.width), f32), np.zeros((n, heads * m.head_dim), f32), np.zeros((n, m.inner), f32),
            np.zeros((n, max(m.width, m.heads * m.head_dim) // 32 * BLOCK), np.uint8), np.zeros((n, m.inner // 32 * BLOCK), np.uint8),
            np.zeros((count, 4, blocks * lanes), f32), np.zeros((count, 2, n, 32), f32), np.zeros((count, m.width), f32),
            np.zeros((max(batch, 1), m.vocab_size), f32),
        )
        self.barrier = np.zeros(16, np.int64)
        self.lengths = np.zeros(batch, np.int64)

    def _run(self, ids: Any, sequences: Any, positions: Any, wanted: Any) -> Any:
        """One pass; the logits of the wanted rows, in memory that the next pass writes to."""
        ids, sequences, positions, wanted = (np.ascontiguousarray(each, np.int64) for each in (ids, sequences, positions, wanted))
        m, crew = self.model, self.crew
        crew.run(
            lambda me: run(
                self.isa, me, crew.threads, self.barrier, ids, sequences, positions, wanted, self.sizes, m.weights, self.tables, self.cache, self.work
            )
        )
        return self.work[-1][: len(wanted)]

    def prefill(self, ids: Tensor, num_pad: Tensor | None = None) -> Tensor:
        """Starts anew with left-padded prompts. ids (B, T), num_pad (B,), None for no padding -> logits (B, V)."""
        rows = ids.numpy()
        pads = num_pad.numpy() if num_pad is not None else np.zeros(len(rows), np.int64)
        logits = np.empty((len(rows), self.model.vocab_size), np.float32)
        for row, (tokens, pad) in enumerate(zip(rows, pads, strict=True)):
            text = tokens[pad:]
            for first in range(0, len(text), self.rows):
                part = text[first : first + self.rows]
                last = first + len(part) == len(text)
                got = self._run(part, np.full(len(part), row), np.arange(first, first + len(part)), [len(part) - 1] if last else [])
            logits[row] = got[0]
            self.lengths[row] = len(text)
        return torch.from_numpy(logits)

    def decode(self, ids: Tensor) -> Tensor:
        """The newest token of every row, ids (B, 1) -> logits (B, V)."""
        batch = np.arange(self.batch)
        logits = self._run(ids.numpy().ravel(), batch, self.lengths, batch)
        self.lengths += 1
        return torch.from_numpy(logits.copy())

    def generate(self, prompts: Sequence[Sequence[int]], max_new_tokens: int) -> Tensor:
        """The most probable tokens after each prompt, (B, max_new_tokens)."""
        width = max(map(len, prompts))
        ids = torch.tensor([[0] * (width - len(p)) + list(p) for p in prompts])
        token = self.prefill(ids, torch.tensor([width - len(p) for p in prompts])).argmax(-1, keepdim=True)
        tokens = [token]
        for _ in range(max_new_tokens - 1):
            token = self.decode(token).argmax(-1, keepdim=True)
            tokens.append(token)
        return torch.cat(tokens, dim=1)
