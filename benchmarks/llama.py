"""The contender llama.cpp on a GGUF file, through low-level functions of `llama-cpp-python`: several sequences in a greedy batch."""

import ctypes
import importlib.metadata
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

FORMATS = {"Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "IQ4_NL": 25}
"""The formats of llama.cpp's quantizer with groups of 32, by their numbers in llama.h (`llama_ftype`).

Rows of 576 need groups of 32 (formats with groups of 256 are replaced).
"""


def quantize(source: Path, kind: str, into: Path) -> None:
    """Write a GGUF file of another format with llama.cpp's quantizer. If source is quantized, only the result's speed is meaningful.

    Raises RuntimeError if the quantizer fails.
    """
    api = library()
    settings = api.llama_model_quantize_default_params()
    settings.ftype, settings.allow_requantize = FORMATS[kind], True
    if api.llama_model_quantize(str(source).encode(), str(into).encode(), ctypes.byref(settings)) != 0:
        raise RuntimeError(f"llama.cpp did not make {kind} of {source}")


def build() -> str:
    """Return the binding's version and the instructions that its llama.cpp was compiled for."""
    parts = [part.partition("=") for part in library().llama_print_system_info().decode().replace("CPU :", "|").split("|")]
    found = [name.strip() for name, _, value in parts if value.strip() not in ("", "0")]
    return f"llama-cpp-python {importlib.metadata.version('llama-cpp-python')} ({', '.join(found)})"


@cache
def library() -> Any:
    """Return llama_cpp with its log switched off."""
    import llama_cpp

    api: Any = llama_cpp
    api.silent = api.llama_log_callback(lambda level, text, data: None)  # it must live as long as the library calls it
    api.llama_log_set(api.silent, None)
    api.llama_backend_init()
    return api


class LlamaCpp:
    """A contender of `batch` sequences of up to max_len tokens each, with `threads` threads. The weights keep the file's format."""

    def __init__(self, path: Path, batch: int, max_len: int, threads: int) -> None:
        api = self.api = library()
        self.model = api.llama_model_load_from_file(str(path).encode(), api.llama_model_default_params())
        settings = api.llama_context_default_params()
        settings.n_ctx, settings.n_batch, settings.n_seq_max = batch * max_len, batch * max_len, batch
        settings.n_threads = settings.n_threads_batch = threads
        self.context = api.llama_init_from_model(self.model, settings)
        if not self.model or not self.context:
            raise RuntimeError(f"llama.cpp did not load {path}")
        self.vocab_size = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self.model))
        self.slots = api.llama_batch_init(batch * max_len, 0, 1)

    def run(self, ids: Tensor, new: int, clock: Callable[[], Any] = time.perf_counter) -> tuple[list[list[int]], Any, Any]:
        """Return (each row's new tokens, seconds to the first token's logits, seconds from there to the last token's logits).

        The seconds are differences of `clock`.
        """
        api, (B, T) = self.api, ids.shape
        api.llama_memory_clear(api.llama_get_memory(self.context), True)
        start = clock()
        token = self._decode(ids.numpy().ravel(), np.tile(np.arange(T), B), np.repeat(np.arange(B), T))
        first = clock()
        tokens = [token]
        for step in range(new - 1):
            token = self._decode(token, np.full(B, T + step), np.arange(B))
            tokens.append(token)
        return np.stack(tokens, axis=1).tolist(), first - start, clock() - first

    def _decode(self, tokens: np.ndarray, positions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Call llama.cpp once, and return the most probable token after each row's last token."""
        last = np.append(rows[1:] != rows[:-1], True)
        self._fill(tokens, positions, rows, last)
        if self.api.llama_decode(self.context, self.slots) != 0:
            raise RuntimeError("llama.cpp could not decode the batch")
        logits = (self.api.llama_get_logits_ith(self.context, int(i)) for i in np.flatnonzero(last))
        return np.array([np.ctypeslib.as_array(each, (self.vocab_size,)).argmax() for each in logits])

    def logits(self, ids: Tensor) -> np.ndarray:
        """Return the logits after each token of one text ids (1, T): (T, V), float32."""
        api, n = self.api, ids.shape[1]
        api.llama_memory_clear(api.llama_get_memory(self.context), True)
        self._fill(ids[0].numpy(), np.arange(n), np.zeros(n, np.int64), np.ones(n))
        if api.llama_decode(self.context, self.slots) != 0:
            raise RuntimeError("llama.cpp could not decode the text")
        return np.stack([np.ctypeslib.as_array(api.llama_get_logits_ith(self.context, i), (self.vocab_size,)).copy() for i in range(n)])

    def _fill(self, tokens: np.ndarray, positions: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> None:
        n, slots = len(tokens), self.slots
        slots.n_tokens = n
        for name, values in (("token", tokens), ("pos", positions), ("n_seq_id", np.ones(n)), ("logits", wanted)):
            np.ctypeslib.as_array(getattr(slots, name), (n,))[:] = values
        for i, row in enumerate(rows.tolist()):
            slots.seq_id[i][0] = row

    def close(self) -> None:
        self.api.llama_batch_free(self.slots)
        self.api.llama_free(self.context)
        self.api.llama_model_free(self.model)
