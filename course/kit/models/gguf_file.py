"""A reader of GGUF files: metadata and tensor table at once, tensors one by one from the mapped file.

The package `gguf` reads everything too, but takes seconds for a vocabulary. Its dequantizers are used here for the
formats that this module does not decode itself. Format: ggml's docs/gguf.md.
"""

import mmap
import struct
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import ModelError

BLOCK_SIZE = 32  # weights in one quantized block of the formats below
Q4_1_BYTES = 20  # float16 scale, float16 minimum, 16 bytes of two 4-bit numbers each
Q8_0_BYTES = 34  # float16 scale, 32 signed bytes
F32, F16, Q4_1, Q8_0 = 0, 1, 3, 8  # ggml's numbers of the formats

STRING, ARRAY = 8, 9
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


@dataclass(frozen=True)
class TensorInfo:
    """The place of a tensor in the file. shape has rows first, as in torch; GGUF stores the reverse order."""

    shape: tuple[int, ...]
    kind: int
    start: int
    num_bytes: int


class GGUFFile:
    """An open GGUF file with `.metadata` and `.tensors` (name -> TensorInfo).

    `read(name)` returns a tensor's weights in float32; `blocks(name)` returns its bytes.
    """

    def __init__(self, path: Path) -> None:
        """Open the file. Raises ModelError for a file that is not GGUF, or that is damaged or cut short."""
        self.path = path
        with open(path, "rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"{path} is not a GGUF file: it does not begin with 'GGUF'; fetch it again")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._read_header()
        except (struct.error, ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
            if isinstance(error, ModelError):
                raise
            raise self._damaged("its header cannot be read") from None
        for name, tensor in self.tensors.items():
            if tensor.start + tensor.num_bytes > len(self._map):
                raise self._damaged(
                    f"{name} should end at byte {tensor.start + tensor.num_bytes:,}, the file has {len(self._map):,}"
                )

    def read(self, name: str) -> Tensor:
        """Return the weights of a tensor as float32, as a copy."""
        tensor = self.tensors[name]
        return torch.from_numpy(_dequantize(self._bytes(name), tensor.kind)).view(tensor.shape)

    def read_unpermuted(self, name: str, num_heads: int) -> Tensor:
        """Return query or key weights (heads*Dh, D) with their rows put back into the order of the rotate-half form."""
        tensor = self.tensors[name]
        return torch.from_numpy(_dequantize(self._unpermuted_bytes(name, num_heads), tensor.kind)).view(tensor.shape)

    def blocks(self, name: str, num_heads: int | None = None) -> Tensor:
        """Return a copy of a matrix's blocks as in the file: uint8 (rows, blocks in a row, bytes of a block).

        num_heads: the number of heads of query or key weights, whose rows are then reordered as by `read_unpermuted`. Raises ModelError for
        a format other than Q4_1 (20 bytes for 32 weights) and Q8_0 (34).
        """
        tensor = self.tensors[name]
        sizes = {Q4_1: Q4_1_BYTES, Q8_0: Q8_0_BYTES}
        if tensor.kind not in sizes:
            raise ModelError(f"{name} in {self.path} is not in blocks of Q4_1 or Q8_0")
        rows = self._bytes(name).copy() if num_heads is None else self._unpermuted_bytes(name, num_heads)
        return torch.from_numpy(rows).view(tensor.shape[0], -1, sizes[tensor.kind])

    def _bytes(self, name: str) -> NDArray[np.uint8]:
        """Return a read-only view of a tensor's bytes in the file."""
        tensor = self.tensors[name]
        return np.frombuffer(self._map, np.uint8, tensor.num_bytes, tensor.start)

    def _unpermuted_bytes(self, name: str, num_heads: int) -> NDArray[np.uint8]:
        """Return a copy of the bytes of query or key weights, with the rows in the order of the rotate-half form.

        llama.cpp rotates rows 2i and 2i + 1 of a head together; Hugging Face's Llama rotates rows i and i + Dh/2. A GGUF file has
        llama.cpp's order. A row consists of whole blocks, so rows can be moved before they are decoded.
        """
        num_rows = self.tensors[name].shape[0]
        if num_rows % (2 * num_heads):
            raise self._damaged(f"the {num_rows} rows of {name} are not {num_heads} heads of even width")
        pairs = self._bytes(name).reshape(num_heads, num_rows // num_heads // 2, 2, -1)
        return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(-1)

    def _read_header(self) -> None:
        version, num_tensors, num_values = struct.unpack_from("<IQQ", self._map, 4)
        if version not in (2, 3):
            if version and version & 0xFFFF == 0:
                raise ModelError(f"{self.path} is written for big-endian machines, the kit reads little-endian files; fetch one of those")
            raise ModelError(f"{self.path} is GGUF of version {version}, the kit reads 2 and 3; fetch a file of those")
        self._at = 24
        self.metadata: dict[str, Any] = {}
        for _ in range(num_values):
            key = self._string()
            self.metadata[key] = self._value(self._scalar("I"))
        entries = {}
        for _ in range(num_tensors):
            name = self._string()
            num_dims = self._scalar("I")
            shape = struct.unpack_from(f"<{num_dims}Q", self._map, self._at)
            self._at += 8 * num_dims
            entries[name] = (shape[::-1], self._scalar("I"), self._scalar("Q"))
        alignment = self.metadata.get("general.alignment", 32)
        data = -(-self._at // alignment) * alignment
        self.tensors = {
            name: TensorInfo(shape, kind, data + offset, _num_bytes(prod(shape), kind))
            for name, (shape, kind, offset) in entries.items()
        }

    def _scalar(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self._map, self._at)
        self._at += struct.calcsize("<" + code)
        return value

    def _string(self) -> str:
        length = self._scalar("Q")
        start, self._at = self._at, self._at + length
        if self._at > len(self._map):
            raise IndexError
        return self._map[start : self._at].decode("utf-8")

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind != ARRAY:
            return self._scalar(SCALARS[kind])
        item_kind, count = self._scalar("I"), self._scalar("Q")
        if count > len(self._map):  # with a damaged count the loops below would never end
            raise IndexError
        if item_kind == STRING:
            return self._strings(count)
        if item_kind == ARRAY:
            return [self._value(ARRAY) for _ in range(count)]
        values = struct.unpack_from(f"<{count}{SCALARS[item_kind]}", self._map, self._at)
        self._at += struct.calcsize(f"<{count}{SCALARS[item_kind]}")
        return list(values)

    def _strings(self, count: int) -> list[str]:
        """Read `count` strings, with the code of `_string` inlined for speed: a vocabulary has a hundred thousand strings."""
        data, at, strings = self._map, self._at, []
        for _ in range(count):
            start = at + 8
            at = start + int.from_bytes(data[at:start], "little")
            strings.append(data[start:at].decode("utf-8"))
        if at > len(data):
            raise IndexError
        self._at = at
        return strings

    def _damaged(self, problem: str) -> ModelError:
        return ModelError(f"{self.path} is damaged or cut short: {problem}; delete it and fetch it again")


def _num_bytes(num_weights: int, kind: int) -> int:
    sizes = {F32: (1, 4), F16: (1, 2), Q4_1: (BLOCK_SIZE, Q4_1_BYTES), Q8_0: (BLOCK_SIZE, Q8_0_BYTES)}
    if kind not in sizes:
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

        try:
            sizes[kind] = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
        except ValueError:
            raise KeyError(kind) from None
    weights_per_block, bytes_per_block = sizes[kind]
    return num_weights // weights_per_block * bytes_per_block


def _dequantize(raw: NDArray[np.uint8], kind: int) -> NDArray[np.float32]:
    """Return float32 weights, flat, from the bytes of a whole number of blocks."""
    decode: dict[int, Callable[[NDArray[np.uint8]], NDArray[np.float32]]] = {
        F32: lambda raw: raw.view(np.float32).copy(),
        F16: lambda raw: raw.view(np.float16).astype(np.float32),
        Q4_1: _decode_q4_1,
        Q8_0: _decode_q8_0,
    }
    if kind in decode:
        return decode[kind](raw)
    from gguf import GGMLQuantizationType, dequantize

    try:
        return dequantize(raw, GGMLQuantizationType(kind)).reshape(-1)
    except NotImplementedError:
        name = GGMLQuantizationType(kind).name
        raise ModelError(f"weights in format {name} cannot be decoded; use a file in Q8_0, Q4_1 or F16") from None


def _decode_q4_1(raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Decode Q4_1: weight = scale * number + minimum; low halves of the 16 bytes are weights 0 to 15, high halves 16 to 31."""
    blocks = raw.reshape(-1, Q4_1_BYTES)
    scale_and_minimum = blocks[:, :4].copy().view(np.float16).astype(np.float32)
    numbers = blocks[:, 4:]
    weights = np.empty((len(blocks), BLOCK_SIZE), np.float32)
    weights[:, :16] = numbers & 15
    weights[:, 16:] = numbers >> 4
    weights *= scale_and_minimum[:, :1]
    weights += scale_and_minimum[:, 1:]
    return weights.reshape(-1)


def _decode_q8_0(raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Decode Q8_0: weight = scale * number."""
    blocks = raw.reshape(-1, Q8_0_BYTES)
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    return (blocks[:, 2:].view(np.int8) * scale).reshape(-1)
