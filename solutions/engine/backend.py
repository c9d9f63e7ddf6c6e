"""The choice of an engine: quantized if the processor and the file support it, otherwise one that computes in floating point.

If the processor does not support it and onnxruntime is installed, onnxruntime's product with the file's blocks is timed beside those with
float weights, and used if it is faster (`onnx_blocks`). All engines are `ServingEngine`s. The quantized one stores a text in one piece, so
to the scheduler a row of its cache is a block of max_len tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import torch
from torch import Tensor

from course.kit import Config, Tokenizer, WeightsOnly, load_model, load_tokenizer, paths
from course.kit.errors import ModelError
from course.kit.models.gguf_model import load_gguf_blocks
from solutions.engine import onnx_blocks
from solutions.engine.matmul import Products
from solutions.engine.packed import PackedModel
from solutions.engine.serving import Parts, ServingEngine

Kind = torch.dtype | Literal["auto", "quantized"]
MAX_LEN = 2048
"""Tokens of a text, unless the caller asks for another limit."""
BLOCK_SIZE = 16
FLOAT_TOKENS = 4096
"""Most tokens of all texts together in float memory, or max_len if that is more.

A request that finds no room waits.
"""


class NoKernels(RuntimeError):
    """An error for a machine that the quantized engine has no kernels for."""


@dataclass(frozen=True)
class Choice:
    """An engine that serves requests, and the line that says which engine was chosen and why.

    products: the engine's products; None for an engine with kernels of its own. close: ends the engine's threads.
    """

    line: str
    config: Config
    tokenizer: Tokenizer
    device: torch.device
    max_len: int
    serving: ServingEngine
    products: Products | None = None
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Size:
    """The size of an engine.

    rows: the number of texts computed side by side. max_len: the limit of tokens in a text; None means MAX_LEN or the model's limit.
    threads: the number of threads.
    """

    rows: int
    max_len: int | None
    threads: int


def choose(
    model: str | Path | WeightsOnly, dtype: Kind, *, rows: int, max_len: int | None, threads: int, way: str | None = None
) -> Choice:
    """Return the engine for a model by name or path, or for a loaded model.

    A loaded model answers with its own weights, not with those of its file. dtype: "quantized" uses the file's own blocks, a dtype uses
    float weights, and "auto" uses blocks if possible, otherwise float weights (in a loaded model's own dtype, else float32). way: as in
    `Products`, for float weights. way="onnxruntime" multiplies with the blocks of a .gguf file by onnxruntime on any processor.
    dtype="quantized" does the same on a processor without kernels.

    Raises ModelError for a model that cannot be loaded, and NoKernels or ModelError for "quantized" if the machine or the file does not
    support it. Raises ValueError for an invalid dtype, an unknown way to multiply, "quantized" with a loaded model, and a max_len above the
    model's limit.
    """
    if dtype not in ("auto", "quantized") and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise ValueError(f'dtype must be "auto", "quantized" or a floating-point dtype of torch, got {dtype!r}')
    if way != onnx_blocks.NAME:
        Products(way)  # an unknown name is refused also where the engine has kernels of its own
    size = Size(rows, max_len, threads)
    if isinstance(model, WeightsOnly):
        return _for_loaded(model, dtype, size, way)
    path = paths.SMOLLM2 if model == "smollm2" else Path(model).expanduser()
    if way == onnx_blocks.NAME:
        return _load_numbers(model, dtype, size, way, "as asked for", _blocks_for_onnxruntime(path, dtype))
    if isinstance(dtype, torch.dtype) or not (path.exists() or path == Path("tiny")):  # loading says what is missing
        return _load_numbers(model, dtype, size, way, "as asked for")
    try:
        return _in_blocks(path, str(model), size)
    except NoKernels as error:
        return _without_kernels(model, path, dtype, size, way, str(error))
    except ModelError as error:
        if dtype == "quantized":
            raise
        return _load_numbers(model, dtype, size, way, str(error))


def _for_loaded(model: WeightsOnly, dtype: Kind, size: Size, way: str | None) -> Choice:
    if isinstance(dtype, torch.dtype):
        model = model.to(dtype=dtype)
    elif dtype == "quantized":
        raise ValueError("a loaded model has float weights and no blocks: give Engine 'smollm2' or the path of a .gguf file")
    return _in_numbers(model, f"the weights of {model.config.name} as loaded", size, way)


def _without_kernels(model: str | Path, path: Path, dtype: Kind, size: Size, way: str | None, why: str) -> Choice:
    """Return an engine for a processor that the quantized engine has no kernels for.

    If onnxruntime is installed, "quantized" uses its product with the file's blocks, and "auto" includes that product in the timing.
    """
    if onnx_blocks.installed():
        try:
            blocks = _blocks_for_onnxruntime(path, dtype)
        except ModelError:
            if dtype == "quantized":
                raise
            return _load_numbers(model, dtype, size, way, why)
        return _load_numbers(model, dtype, size, onnx_blocks.NAME if dtype == "quantized" else way, why, blocks)
    if dtype == "quantized":
        raise NoKernels(f"{why}, and onnxruntime is not installed")
    return _load_numbers(model, dtype, size, way, f"{why}; onnxruntime is not installed")


def _load_numbers(
    model: str | Path, dtype: Kind, size: Size, way: str | None, why: str, blocks: dict[str, Tensor] | None = None
) -> Choice:
    loaded = load_model(model, dtype=dtype if isinstance(dtype, torch.dtype) else torch.float32)
    return _in_numbers(loaded, f"the weights of {loaded.config.name}, {why}", size, way, blocks)


def _blocks_for_onnxruntime(path: Path, dtype: Kind) -> dict[str, Tensor]:
    """Return a file's blocks.

    Raises ModelError if the file has no blocks or onnxruntime is not installed, and ValueError for a dtype other than float32.
    """
    if not onnx_blocks.installed():
        raise ModelError("onnxruntime is not installed: `pip install onnxruntime`, or leave products out")
    if isinstance(dtype, torch.dtype) and dtype != torch.float32:
        raise ValueError(f"onnxruntime multiplies float32 with a file's blocks, not {dtype}: leave dtype out")
    found = load_gguf_blocks(path, path.stem) if path.is_file() else {}
    if not found:
        raise ModelError(f"{path} has no matrix in blocks of Q4_1 or Q8_0, the only formats passed to onnxruntime")
    return found


def _in_blocks(path: Path, name: str, size: Size) -> Choice:
    """Return the quantized engine.

    Raises ModelError for a model that is not in blocks, and NoKernels for a processor without kernels or a machine without numba.
    """
    if not path.is_file():
        raise ModelError("stored as float weights, not in blocks")
    try:
        from solutions.engine.quantized import NAMES, QuantizedEngine, QuantizedModel, best_instruction_set, flatten_prompts
        from solutions.engine.quantized.progress import report_compiling

        isa = best_instruction_set()
    except (ImportError, RuntimeError) as error:
        raise NoKernels(str(error)) from None
    model = QuantizedModel(path, len(isa))
    max_len = _max_len(model.config, size.max_len)
    engine = QuantizedEngine(model=model, isa=isa, batch=size.rows, max_len=max_len, threads=size.threads)
    with report_compiling():
        engine.compile()
    described: Any = SimpleNamespace(config=model.config, dtype=torch.float32, device=torch.device("cpu"))
    serving = ServingEngine(
        described,
        num_blocks=size.rows,
        block_size=max_len,
        token_budget=engine.rows,
        max_running=size.rows,
        parts=Parts(
            memory=lambda *_: None,  # type: ignore[arg-type]  # the engine has its own
            flatten=flatten_prompts,
            forward=lambda model, flat, sequences, kv: engine.forward(flat, sequences),
        ),
    )
    line = f"Engine: quantized ({NAMES[isa]}), {_count(size.threads)}; 4-bit blocks of {path.name}"
    return Choice(line, model.config, load_tokenizer(name), described.device, max_len, serving, close=engine.crew.close)


def _in_numbers(
    model: WeightsOnly, which: str, size: Size, way: str | None, blocks: dict[str, Tensor] | None = None
) -> Choice:
    max_len = _max_len(model.config, size.max_len)
    tokens = max(max_len, min(size.rows * max_len, FLOAT_TOKENS))
    packed = PackedModel(model, way, blocks)
    serving = ServingEngine(
        packed, num_blocks=-(-tokens // BLOCK_SIZE), block_size=BLOCK_SIZE, token_budget=max(256, size.rows), max_running=size.rows
    )
    where = _count(size.threads) if model.device.type == "cpu" else str(model.device)
    kind = str(model.dtype).removeprefix("torch.")
    if blocks is not None:
        taken = any(onnx_blocks.NAME in names for names in packed.products.choices.values())
        kind, which = ("quantized (onnxruntime)", which) if taken else (kind, f"{which}; onnxruntime was no faster")
    line = f"Engine: {kind}, {where}; {which}"
    return Choice(line, model.config, model.tokenizer, model.device, max_len, serving, packed.products)


def _max_len(config: Config, asked: int | None) -> int:
    limit = config.max_position_embeddings
    if asked is not None and not 1 <= asked <= limit:
        raise ValueError(f"max_len must be 1 to {limit} for {config.name}, got {asked}")
    return asked or min(MAX_LEN, limit)


def _count(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"
