"""The wire between grader and worker: values become bytes and come back.

A frame is

    4 bytes   b"FPT1"
    4 bytes   length of the header, big-endian
    8 bytes   length of the payload, big-endian
    header    JSON, UTF-8: one value tree
    payload   the raw bytes of all tensors, one after another

A value tree is JSON null, true, false, a string, a list, or an integer or float within JSON's range; everything
else is an object {"$": kind, ...}:

    int        {"v": "123..."}              an integer beyond 2**53
    float      {"v": "nan" | "inf" | "-inf"}
    tuple      {"v": [...]}
    dict       {"v": [[key, value], ...]}
    bytes      {"at": offset, "n": length}
    tensor     {"dtype": "float32", "shape": [...], "at": offset, "n": bytes, "grad": bool}; a transposed one in its memory order,
               with "order": [...], the dimension of the tensor that each dimension of "shape" is
    dtype      {"v": "float32"}             device {"v": "cpu"}
    data       {"type": "Config", "v": {field: value}}      a dataclass of course.kit, or `Scenario`
    handle     {"id": n, "type": name, "callable": bool}    an object that stays with the worker
    callable   {"id": n, "waits": bool}     a function that stays with the grader; one that waits is a coroutine function
    result     {"id": n}                    the result of step n of a batch
    named      {"kind": "model" | "tokenizer", "v": {...}}  a model or tokenizer that the worker loads for itself
    here       {"id": n}                    a tensor on another device, between two ends in one process

Nothing is ever pickled, and no method of a value's own class is called: the real entries of a list are sent, whatever its class claims.
`decode` trusts nothing it reads: lengths, dtypes, shapes, offsets, depth and the number of nodes are checked before a byte is allocated for
them, and any false one raises `WireError`. No byte of the payload may be used twice, so a frame never grows when it is read. A worker's
frames have smaller limits than the frames sent to it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import struct
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .text import encodable

MAGIC = b"FPT1"
HEAD = struct.Struct(">4sIQ")
MAX_HEADER_BYTES = 32 * 1024 * 1024
MAX_PAYLOAD_BYTES = 256 * 1024 * 1024
MAX_REPLY_HEADER_BYTES = 8 * 1024 * 1024
MAX_REPLY_PAYLOAD_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 24
MAX_NODES = 1_000_000
MAX_REPLY_NODES = 100_000
"""Maximum number of values in a worker's frame; each costs the grader some microseconds, in more places than this one."""
MAX_DIMENSIONS = 16
MAX_NUMBER_KEYS = 4_096
"""Maximum number of dict keys that are not text: numbers with equal hashes can be made, and would make a dict quadratic."""
SAFE_INTEGER = 2**53

DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool",
        "complex64", "complex128", "uint16", "uint32", "uint64",
        "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    )
}  # fmt: skip
UNKNOWN_TO_NUMPY = {dtype: torch.int16 if dtype.itemsize == 2 else torch.uint8 for name, dtype in DTYPES.items()
                    if name == "bfloat16" or name.startswith("float8")}  # fmt: skip
"""Dtypes that numpy does not have, and the dtype as which such a tensor's bytes are read."""
STRUCTURE = (b"[", b"{", b",")
PARTS_PER_NODE = 8
"""Maximum number of opening brackets and commas of JSON per value: a tensor has seven fields and two lists.

Long texts may have more, and then hold fewer values.
"""
PLAIN_JSON = frozenset({type(None), bool, str, int, float})
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


_no_torch_function = torch._C.DisableTorchFunction
_requires_grad = vars(torch._C.TensorBase)["requires_grad"].__get__
_as_subclass, _own_dispatch = Tensor.as_subclass, Tensor.__torch_dispatch__
"""Torch's own functions, which no class of the student's can replace."""


class WireError(Exception):
    """The error of a frame that does not follow the protocol, or of a value that cannot be sent."""


Extra = Callable[[Any], "dict[str, Any] | None"]
Resolve = Callable[[dict[str, Any]], Any]


def encode(value: Any, extra: Extra, *, reply: bool = False) -> bytes:
    """Return the frame for `value`. `extra(value)` returns the tree of anything that is not plain data, or None to refuse it.

    reply: whether the smaller limits of a worker's frames apply.
    """
    encoder = _Encoder(extra, MAX_REPLY_NODES if reply else MAX_NODES)
    header = _write_json(encoder.tree(value, 0)).encode()
    max_header, max_payload = limits(reply)
    if len(header) > max_header or encoder.payload_bytes > max_payload:
        sizes = f"{encoder.payload_bytes / 2**20:.0f} MiB of tensors and {len(header) / 2**20:.0f} MiB of the rest"
        raise WireError(f"too large to send: {sizes}, where {max_payload >> 20} and {max_header >> 20} are allowed")
    return b"".join([HEAD.pack(MAGIC, len(header), encoder.payload_bytes), header, *encoder.payload])


def limits(reply: bool) -> tuple[int, int]:
    """Return the limits of a frame as (header bytes, payload bytes)."""
    return (MAX_REPLY_HEADER_BYTES, MAX_REPLY_PAYLOAD_BYTES) if reply else (MAX_HEADER_BYTES, MAX_PAYLOAD_BYTES)


def lengths(head: bytes | bytearray, *, reply: bool = False) -> tuple[int, int]:
    """Return the (header bytes, payload bytes) announced by the first HEAD.size bytes of a frame. Raises WireError."""
    if len(head) != HEAD.size:
        raise WireError("half a frame")
    magic, header_bytes, payload_bytes = HEAD.unpack(head)
    if magic != MAGIC:
        raise WireError("not a frame")
    max_header, max_payload = limits(reply)
    if header_bytes > max_header or payload_bytes > max_payload:
        raise WireError(f"a frame of {header_bytes} + {payload_bytes} bytes is over the limit")
    return header_bytes, payload_bytes


def decode(header: bytes | bytearray, payload: bytes | bytearray, resolve: Resolve, *, reply: bool = False) -> Any:
    """Return the value of a frame.

    `resolve(tree)` turns handle, callable, named and data objects into values, and may raise WireError. reply: whether the smaller limits
    of a worker's frames apply.
    """
    max_nodes = MAX_REPLY_NODES if reply else MAX_NODES
    if sum(map(header.count, STRUCTURE)) > PARTS_PER_NODE * max_nodes:
        raise WireError("too many values")  # before they are made
    try:
        tree = _read_json(header.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise WireError(f"the header is not JSON: {type(error).__name__}") from None
    try:
        return _Decoder(payload, resolve, max_nodes).value(tree, 0)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        raise WireError(f"a malformed value: {type(error).__name__}: {str(error)[:200]}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_write_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
_read_json = json.JSONDecoder(parse_constant=_no_constant).decode


class _Encoder:
    def __init__(self, extra: Extra, max_nodes: int) -> None:
        self.payload: list[bytes] = []
        self.payload_bytes = 0
        self.extra = extra
        self.nodes, self.max_nodes = 0, max_nodes

    def tree(self, value: Any, depth: int) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH:
            raise WireError("nested too deeply to send")
        if self.nodes > self.max_nodes:
            raise WireError("too many values to send")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is dict:  # exact types first: most values are
            return {"$": "dict", "v": [[self.tree(k, depth + 1), self.tree(v, depth + 1)] for k, v in value.items()]}
        if kind is Tensor:
            return self._tensor(value)
        if kind is int and -SAFE_INTEGER <= value <= SAFE_INTEGER:
            return value
        if kind is list:
            return [self.tree(v, depth + 1) for v in value]
        if issubclass(kind, int) and not hasattr(value, "_fields_"):
            number = int.__int__(value)
            return number if abs(number) <= SAFE_INTEGER else {"$": "int", "v": str(number)}
        if issubclass(kind, float):
            real = float.__float__(value)
            return real if math.isfinite(real) else {"$": "float", "v": str(real)}
        if issubclass(kind, str):
            return str.__str__(value)
        if issubclass(kind, list):
            return [self.tree(v, depth + 1) for v in list.__iter__(value)]
        if issubclass(kind, tuple):
            return {"$": "tuple", "v": [self.tree(v, depth + 1) for v in tuple.__iter__(value)]}
        if issubclass(kind, dict):
            items = OrderedDict.items(value) if issubclass(kind, OrderedDict) else dict.items(value)
            return {"$": "dict", "v": [[self.tree(k, depth + 1), self.tree(v, depth + 1)] for k, v in items]}
        if issubclass(kind, bytes | bytearray):
            raw = bytes(memoryview(value))
            return {"$": "bytes", "at": self._put(raw), "n": len(raw)}
        if issubclass(kind, Tensor):
            return self._tensor(value)
        if isinstance(value, torch.dtype) and value in DTYPE_NAMES:
            return {"$": "dtype", "v": DTYPE_NAMES[value]}
        if isinstance(value, torch.device):
            return {"$": "device", "v": str(value)}
        tree = self.extra(value)
        if tree is None:
            raise WireError(f"a {type(value).__name__} cannot be sent")
        if tree.get("$") == "data" or tree.get("$") == "named":
            tree["v"] = {name: self.tree(field, depth + 1) for name, field in tree["v"].items()}
        return tree

    def _tensor(self, value: Tensor) -> dict[str, Any]:
        with _no_torch_function():
            return self._tensor_tree(value)

    def _tensor_tree(self, value: Tensor) -> dict[str, Any]:
        grad = _requires_grad(value)
        if type(value) is not Tensor:
            value = _plain_tensor(value)
        if value.device.type not in ("cpu", "meta") and (left := self.extra(value)) is not None and left["$"] == "here":
            return left
        if value.layout != torch.strided or value.dtype not in DTYPE_NAMES or value.is_meta:
            raise WireError(f"a tensor of dtype {value.dtype}, layout {value.layout}, device {value.device} cannot be sent")
        data = value.detach()
        self.nodes += nodes_of_empty(data.shape)
        if self.nodes > self.max_nodes:
            raise WireError(f"a tensor of shape {tuple(data.shape)} is too large to send")
        order = _order_in_memory(data)
        laid = data if order is None else data.permute(order)
        plain = laid.view(UNKNOWN_TO_NUMPY[laid.dtype]) if laid.dtype in UNKNOWN_TO_NUMPY else laid
        raw = plain.numpy(force=True).tobytes()
        tree = {
            "$": "tensor", "dtype": DTYPE_NAMES[data.dtype], "shape": list(laid.shape),
            "at": self._put(raw), "n": len(raw), "grad": grad,
        }  # fmt: skip
        return tree if order is None else {**tree, "order": order}

    def _put(self, raw: bytes) -> int:
        at = self.payload_bytes
        if at + len(raw) > MAX_PAYLOAD_BYTES:
            raise WireError("too many bytes to send")
        self.payload.append(raw)
        self.payload_bytes += len(raw)
        return at


class _Decoder:
    def __init__(self, payload: bytes | bytearray, resolve: Resolve, max_nodes: int) -> None:
        self.payload = memoryview(payload)
        self.resolve = resolve
        self.nodes, self.max_nodes = 0, max_nodes
        self.number_keys = 0
        self.taken = 0

    def value(self, tree: Any, depth: int) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH:
            raise WireError("nested too deeply")
        if self.nodes > self.max_nodes:
            raise WireError("too many values")
        if type(tree) is str:
            return encodable(tree)
        if type(tree) in PLAIN_JSON:
            return tree
        if type(tree) is list:
            return [self.value(v, depth + 1) for v in tree]
        kind = tree["$"]
        match kind:
            case "dict":
                return {self._key(k, depth): self.value(v, depth + 1) for k, v in _list(tree["v"])}
            case "tensor":
                return self._tensor(tree)
            case "int":
                if len(tree["v"]) > 4000:
                    raise WireError("an integer of more than 4,000 digits")
                return int(tree["v"])
            case "float":
                if tree["v"] not in ("nan", "inf", "-inf"):
                    raise WireError("not a special float")
                return float(tree["v"])
            case "tuple":
                return tuple(self.value(v, depth + 1) for v in _list(tree["v"]))
            case "bytes":
                return bytes(self._take(tree))
            case "dtype":
                return DTYPES[tree["v"]]
            case "device":
                return torch.device(str(tree["v"]))
            case "data" | "named":
                fields = {str(name): self.value(field, depth + 1) for name, field in tree["v"].items()}
                return self.resolve({**tree, "v": fields})
            case "handle" | "callable" | "here" | "result":
                return self.resolve(tree)
        raise WireError(f"an unknown kind of value: {str(kind)[:40]!r}")

    def _key(self, tree: Any, depth: int) -> Any:
        if type(tree) is str:
            self.nodes += 1
            return encodable(tree)
        key = self.value(tree, depth + 1)
        if not isinstance(key, str | int | float | bool | tuple | bytes | type(None)):
            raise WireError("a dict key must be plain")
        if not (isinstance(key, str | bytes) or (isinstance(key, tuple) and all(isinstance(part, str) for part in key))):
            self.number_keys += 1
            if self.number_keys > MAX_NUMBER_KEYS:
                raise WireError(f"more than {MAX_NUMBER_KEYS:,} dict keys that are not text")
        return key

    def _take(self, tree: dict[str, Any]) -> memoryview:
        at, n = tree["at"], tree["n"]
        if type(at) is not int or type(n) is not int or at < 0 or n < 0 or at + n > len(self.payload):
            raise WireError("bytes outside the payload")
        self.taken += n
        if self.taken > len(self.payload):
            raise WireError("bytes of the payload used twice")
        return self.payload[at : at + n]

    def _tensor(self, tree: dict[str, Any]) -> Tensor:
        dtype, shape = DTYPES[tree["dtype"]], _list(tree["shape"])
        if len(shape) > MAX_DIMENSIONS or any(type(s) is not int or s < 0 for s in shape):
            raise WireError("a bad shape")
        self.nodes += nodes_of_empty(shape)
        if self.nodes > self.max_nodes:
            raise WireError("an empty tensor with too many empty parts")
        raw = bytearray(self._take(tree))
        if math.prod(shape) * dtype.itemsize != len(raw):
            raise WireError("a tensor whose bytes do not fit its shape")
        if dtype is torch.bool and raw and max(raw) > 1:
            raise WireError("a bool tensor with other bytes than 0 and 1")
        data = torch.frombuffer(raw, dtype=dtype).reshape(shape) if raw else torch.empty(shape, dtype=dtype)
        if "order" in tree:
            if sorted(_list(tree["order"])) != list(range(len(shape))):
                raise WireError("an order that does not name each dimension once")
            data = data.permute([tree["order"].index(d) for d in range(len(shape))])
        if tree.get("grad") is True and (dtype.is_floating_point or dtype.is_complex):
            data.requires_grad_(True)
        return data


def _plain_tensor(value: Tensor) -> Tensor:
    """Return the tensor without its subclass. Raises WireError for a subclass that computes its values only on access."""
    if type(value).__torch_dispatch__ is not _own_dispatch:
        raise WireError(f"a {type(value).__name__} cannot be sent: a plain tensor can")
    return _as_subclass(value, Tensor)


def nodes_of_empty(shape: Sequence[int]) -> int:
    """Return the number of values that an empty tensor counts for; 0 for any other tensor.

    A tensor of shape (20000000, 0) has no bytes, but becomes twenty million lists.
    """
    return math.prod(size for size in shape if size) if 0 in shape else 0


def _order_in_memory(data: Tensor) -> list[int] | None:
    """Return the dimensions of a transposed tensor in memory order, so the tensor also arrives transposed, like a `.T`.

    Return None for a tensor that is contiguous or has gaps; such a tensor arrives contiguous.
    """
    if data.is_contiguous():
        return None
    order = sorted(range(data.dim()), key=data.stride, reverse=True)
    return order if data.permute(order).is_contiguous() else None


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise WireError("expected a list")
    return value


def data_tree(value: Any, allowed: dict[str, type]) -> dict[str, Any] | None:
    """Return the tree of a dataclass among `allowed`, or None."""
    name = type(value).__name__
    if allowed.get(name) is not type(value) or not dataclasses.is_dataclass(value):
        return None
    return {"$": "data", "type": name, "v": {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}}


def data_value(tree: dict[str, Any], allowed: dict[str, type]) -> Any:
    """Return the dataclass of a tree. Raises WireError if it is not among `allowed`."""
    if tree.get("type") not in allowed:
        raise WireError(f"an unknown dataclass {str(tree.get('type'))[:40]!r}")
    return allowed[tree["type"]](**tree["v"])
