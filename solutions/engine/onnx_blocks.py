"""Products with a file's own blocks by onnxruntime's `MatMulNBits`, for processors that the quantized engine has no kernels for.

The operator reads 4-bit numbers q in blocks of 32, a scale d for each block, and an integer zero point; without one a weight is
d * (q - 8). A block of Q4_1 is d * q + m with a minimum m of its own. Since d * q + m = d * (q - 8) + (m + 8 d), the missing part is
m + 8 d times the sum of the block's inputs: a second product, 32 times as narrow, in the same graph. A number of Q8_0 is
b = 16 (h - 8) + (l - 8) + 8 with the halves h, l of the byte b + 128: two products of 4 bits. Both are exact except for the order of
summation.

The operator also takes a float zero point, -m / d. But then, as for 8 bits in float32, it converts the whole matrix to float32 in every
call, and is slower than float32 from the start. It can also round the inputs to 8 bits (accuracy_level 4). That is faster, but the error
of each product is then 5e-3 instead of 4e-7, and the most probable token changes wherever float32 is not sure. No token may change here,
so accuracy_level stays unset.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from course.kit.models.gguf_file import BLOCK_SIZE, Q4_1_BYTES
from solutions.engine.matmul import Way

NAME = "onnxruntime"
Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]


def installed() -> bool:
    """Return True if onnxruntime is installed, without importing it."""
    return importlib.util.find_spec("onnxruntime") is not None


def parts_of(blocks: Bytes) -> tuple[list[tuple[Bytes, Floats]], Floats]:
    """Split blocks (out, n, 20) of Q4_1 or (out, n, 34) of Q8_0 into the input of `MatMulNBits` and the remainder.

    The input is one or two pairs (numbers 0 to 15 (out, n, 32), scales (out, n)); each pair stands for scale * (number - 8). The remainder
    (out, n) is added to each of a block's 32 weights.
    """
    if blocks.shape[-1] == Q4_1_BYTES:
        scale, minimum = np.moveaxis(blocks[..., :4].copy().view(np.float16).astype(np.float32), -1, 0)
        numbers = np.concatenate([blocks[..., 4:] & 15, blocks[..., 4:] >> 4], axis=-1)
        return [(numbers, scale)], minimum + 8 * scale
    scale = blocks[..., :2].copy().view(np.float16).astype(np.float32)[..., 0]
    raised: Bytes = blocks[..., 2:] ^ np.uint8(0x80)  # a signed byte, 128 added
    high: Bytes = raised >> np.uint8(4)
    low: Bytes = raised & np.uint8(15)
    return [(high, 16 * scale), (low, scale)], 8 * scale


class BlockProduct:
    """A function linear(x, weight) by onnxruntime, for a weight in blocks: x (R, in) float32 -> (R, out) float32."""

    def __init__(self, blocks: Tensor) -> None:
        """Load the product for blocks uint8: (out, in / 32, 20) of Q4_1 or (out, in / 32, 34) of Q8_0.

        Raises onnxruntime's own errors.
        """
        import onnxruntime

        _one_pool()
        options = onnxruntime.SessionOptions()
        options.use_per_session_threads = False
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(graph(blocks.numpy()), options, providers=["CPUExecutionProvider"])

    def __call__(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.session.run(None, {"x": x.contiguous().numpy()})[0])


@cache
def _one_pool() -> None:
    """Give all products of a process one shared pool that has no thread but the caller's.

    onnxruntime's own threads spin after a product and compete with torch's, which compute the rest of the step. With two onnxruntime
    threads on two cores, a step took twice as long as in float32, though each product was faster when timed by itself.
    """
    import onnxruntime

    onnxruntime.set_global_thread_pool_sizes(1, 1)


WAY = Way(NAME, "blocks", BlockProduct, lambda x, product: product(x), (torch.float32,), from_blocks=True)


# ---- the graph, in ONNX's own bytes --------------------------------------------------------------------------------
# onnxruntime reads a protobuf message and has nothing to write one with; the package that has would be needed for these lines only.
# The fields' numbers are those of onnx.proto (ONNX's IR version 8).


def varint(number: int) -> bytes:
    """Encode a whole number in groups of seven bits, the lowest group first."""
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def field(number: int, value: int | str | bytes) -> bytes:
    """Encode a field of a message: a whole number, a text, or a nested message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name: str, array: NDArray[Any]) -> bytes:
    kinds = {np.dtype(np.float32): 1, np.dtype(np.uint8): 2, np.dtype(np.int64): 7}
    dims = b"".join(field(1, size) for size in array.shape)
    return dims + field(2, kinds[array.dtype]) + field(8, name) + field(9, np.ascontiguousarray(array).tobytes())


def node(kind: str, inputs: list[str], output: str, domain: str = "", **attributes: int) -> bytes:
    ends = b"".join(field(1, name) for name in inputs) + field(2, output)
    given = (field(1, name) + field(3, value) + field(20, 2) for name, value in attributes.items())  # 2: a whole number
    return ends + field(4, kind) + b"".join(field(5, each) for each in given) + field(7, domain)


def rows_of(name: str, width: int) -> bytes:
    """Encode an input or output of any number of float32 rows."""
    shape = field(1, field(2, "rows")) + field(1, field(1, width))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def graph(blocks: Bytes) -> bytes:
    """Return the ONNX model x (rows, in) -> y (rows, out)."""
    parts, besides = parts_of(blocks)
    out, n = besides.shape
    width = n * BLOCK_SIZE
    held = {"cut": np.array([0, n, BLOCK_SIZE]), "last": np.array([2]), "besides": besides.T}
    nodes, summands = [], []
    for i, (numbers, scales) in enumerate(parts):
        held |= {f"q{i}": numbers[..., 0::2] | numbers[..., 1::2] << 4, f"d{i}": scales.reshape(-1)}
        shape = {"K": width, "N": out, "bits": 4, "block_size": BLOCK_SIZE}
        nodes.append(node("MatMulNBits", ["x", f"q{i}", f"d{i}"], f"y{i}", "com.microsoft", **shape))
        summands.append(f"y{i}")
    if len(summands) > 1:
        nodes.append(node("Add", summands, "whole"))
    nodes += [
        node("Reshape", ["x", "cut"], "groups"),
        node("ReduceSum", ["groups", "last"], "sums", keepdims=0),
        node("Gemm", ["sums", "besides", "whole" if len(summands) > 1 else "y0"], "y"),
    ]
    body = b"".join(field(1, each) for each in nodes) + field(2, "product")
    body += b"".join(field(5, tensor(name, array)) for name, array in held.items())
    body += field(11, rows_of("x", width)) + field(12, rows_of("y", out))
    versions = field(8, field(1, "") + field(2, 17)) + field(8, field(1, "com.microsoft") + field(2, 1))
    return field(1, 8) + field(7, body) + versions
