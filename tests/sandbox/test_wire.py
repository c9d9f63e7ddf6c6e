"""The wire between grader and worker: what goes in comes out, and whatever else arrives is a WireError and nothing worse."""

from __future__ import annotations

import contextlib
import json
import math
import socket
import struct
from collections import OrderedDict
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.sandbox.protocol import wire
from autograder.sandbox.protocol.shared_objects import kit_dataclasses

GENTLE = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def refuse(value: Any) -> Any:
    raise wire.WireError("nothing else is expected here")


def decode(frame: bytes, resolve: Any = refuse) -> Any:
    header_bytes, payload_bytes = wire.lengths(frame[: wire.HEAD.size])
    rest = frame[wire.HEAD.size :]
    assert len(rest) == header_bytes + payload_bytes
    return wire.decode(rest[:header_bytes], rest[header_bytes:], resolve)


def there_and_back(value: Any) -> Any:
    return decode(wire.encode(value, lambda other: None))


def decode_tree(tree: Any, payload: bytes = b"") -> Any:
    return wire.decode(json.dumps(tree).encode(), payload, refuse)


def equal(a: Any, b: Any) -> bool:
    """Same type and value; nan equals nan, 1 does not equal True, 0.0 does not equal -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        same_kind = a.dtype == b.dtype and a.shape == b.shape and a.requires_grad == b.requires_grad
        raw_a, raw_b = (x.detach().contiguous().reshape(-1).view(torch.uint8) for x in (a, b)) if a.numel() else (a.detach(), b.detach())
        return same_kind and torch.equal(raw_a, raw_b)
    if isinstance(a, float):
        return struct.pack(">d", a) == struct.pack(">d", b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return equal(list(a.items()), list(b.items()))
    return a == b


# Round trips


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -1, 2**53, 2**53 + 1, -(2**200), 0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 5e-324,
        "", "text", "ü \U0001f600 \x00 \u2028", b"", b"\x00\xff", [], (), {}, (1,), [(), [[]], {}], {"$": "tensor"},
        {1: "int", "1": "str", (1, 2): "tuple", None: 0, b"b": 1}, {"nested": [{"deep": (1.5, [b"x"])}]},
        torch.float32, torch.int64, torch.bfloat16, torch.device("cpu"),
    ],
    ids=repr,
)  # fmt: skip
def test_plain_values_come_back_as_they_went(value):
    assert equal(there_and_back(value), value)


@pytest.mark.parametrize("dtype", wire.DTYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3), (1, 1, 1, 5)], ids=str)
def test_tensors_of_every_dtype_and_shape_come_back_bit_for_bit(dtype, shape):
    numbers = torch.arange(math.prod(shape)).reshape(shape)
    tensor = numbers % 2 == 0 if dtype is torch.bool else numbers.to(dtype)
    assert equal(there_and_back(tensor), tensor)


def test_nan_payloads_infinities_and_signed_zeros_survive():
    bits = torch.tensor([0x7FC00001, 0x7F800000, -0x800000, -(2**31)], dtype=torch.int32)
    assert there_and_back(bits.view(torch.float32)).view(torch.int32).tolist() == bits.tolist()


def test_views_arrive_as_their_values():
    base = torch.arange(12.0).reshape(3, 4)
    for view in (base[:, 1:3], base[::2], base.expand(2, 3, 4), torch.tensor([1 + 2j]).conj()):
        got = there_and_back(view)
        assert got.is_contiguous()
        assert torch.equal(got, view)


def test_a_transposed_tensor_arrives_transposed():
    base = torch.arange(24.0).reshape(2, 3, 4)
    for view in (base[0].T, base.transpose(0, 2), base.permute(2, 0, 1), base.transpose(1, 2).bfloat16().requires_grad_()):
        got = there_and_back(view)
        assert torch.equal(got, view)
        assert got.stride() == view.stride()
        assert (got.requires_grad, got.is_leaf) == (view.requires_grad, True)


def test_a_tensor_that_wants_gradients_still_wants_them_and_is_a_leaf():
    got = there_and_back(torch.ones(2, requires_grad=True) * 2)
    assert got.requires_grad
    assert got.is_leaf


def test_a_decoded_tensor_owns_its_memory():
    frame = wire.encode([torch.ones(4), torch.ones(4)], lambda other: None)
    first, second = decode(frame)
    first.zero_()
    assert second.tolist() == [1.0] * 4


def test_subclasses_arrive_as_what_they_are_built_on():
    class Count(int):
        pass

    class Name(str):
        pass

    class Parameter(torch.nn.Parameter):
        pass

    got = there_and_back([Count(3), Name("x"), Parameter(torch.ones(2))])
    assert [type(v) for v in got] == [int, str, torch.Tensor]


def test_dataclasses_of_the_kit_come_back_equal():
    classes = kit_dataclasses()
    assert "Config" in classes
    value = classes["ChatMessage"](role="user", content="hello") if "ChatMessage" in classes else None
    if value is None:
        pytest.skip("course.kit has no ChatMessage")
    frame = wire.encode(value, lambda other: wire.data_tree(other, classes))
    assert decode(frame, lambda tree: wire.data_value(tree, classes)) == value


def test_what_cannot_cross_is_refused_by_name():
    for value, name in ((object(), "object"), ({1, 2}, "set"), (iter([]), "iterator"), (torch.Generator(), "Generator")):
        with pytest.raises(wire.WireError, match=name):
            wire.encode(value, lambda other: None)


def test_a_list_that_holds_itself_is_refused():
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(wire.WireError, match="deep"):
        wire.encode(endless, lambda other: None)


def test_sparse_and_meta_tensors_and_dtypes_of_no_use_are_refused():
    for tensor in (torch.eye(3).to_sparse(), torch.empty(3, device="meta"), torch.empty(2, dtype=torch.complex32), torch.complex32):
        with pytest.raises(wire.WireError):
            wire.encode(tensor, lambda other: None)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8")) | st.binary(),
    lambda inner: st.lists(inner, max_size=4)
    | st.lists(inner, max_size=4).map(tuple)
    | st.dictionaries(st.text(st.characters(codec="utf-8")) | st.integers(), inner, max_size=4),
    max_leaves=30,
)


@pytest.mark.slow
@GENTLE
@given(plain)
def test_any_plain_value_comes_back(value):
    assert equal(there_and_back(value), value)


# Lies


def test_lengths_over_the_limit_are_refused_before_anything_is_read():
    for header, payload in ((wire.MAX_HEADER_BYTES + 1, 0), (0, wire.MAX_PAYLOAD_BYTES + 1), (2**32 - 1, 2**64 - 1)):
        with pytest.raises(wire.WireError, match="limit"):
            wire.lengths(wire.HEAD.pack(wire.MAGIC, header, payload))


def test_another_protocol_is_refused():
    with pytest.raises(wire.WireError, match="not a frame"):
        wire.lengths(b"HTTP/1.1 200 OK\r\n"[: wire.HEAD.size])


@pytest.mark.parametrize("header", [b"", b"{", b"\xff\xfe", b"nan", b"NaN", b"-Infinity", b"[1,]", b"\x80" * 10])
def test_headers_that_are_not_json_are_refused(header):
    with pytest.raises(wire.WireError):
        wire.decode(header, b"", refuse)


@pytest.mark.parametrize("opening", [b"[", b'{"$":"tuple","v":[', b'{"$":"dict","v":[[0,', b'{"a":'])
@pytest.mark.parametrize("depth", [wire.MAX_DEPTH + 2, 500, 100_000])
def test_deep_json_is_refused(opening, depth):
    closing = {b"[": b"]", b'{"$":"tuple","v":[': b"]}", b'{"$":"dict","v":[[0,': b"]]}", b'{"a":': b"}"}[opening]
    with pytest.raises(wire.WireError):
        wire.decode(opening * depth + b"0" + closing * depth, b"", refuse)


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "tensor", "dtype": "float32", "shape": [2**40, 2**40], "at": 0, "n": 16, "grad": False},
        {"$": "tensor", "dtype": "float32", "shape": [2**63, 0], "at": 0, "n": 0, "grad": False},
        {"$": "tensor", "dtype": "float32", "shape": [-1, -4], "at": 0, "n": 16, "grad": False},
        {"$": "tensor", "dtype": "float32", "shape": [4], "at": 0, "n": 15, "grad": False},
        {"$": "tensor", "dtype": "float32", "shape": [4], "at": 1, "n": 16, "grad": False},
        {"$": "tensor", "dtype": "float32", "shape": [4], "at": -16, "n": 16, "grad": False},
        {"$": "tensor", "dtype": "float32", "shape": [4.0], "at": 0, "n": 16, "grad": False},
        {"$": "tensor", "dtype": "float32", "shape": [True], "at": 0, "n": 4, "grad": False},
        {"$": "tensor", "dtype": "float32", "shape": "4", "at": 0, "n": 16, "grad": False},
        {"$": "tensor", "dtype": "float32", "shape": [1] * 17, "at": 0, "n": 4, "grad": False},
        {"$": "tensor", "dtype": "float64", "shape": [4], "at": 0, "n": 16, "grad": False},
        {"$": "tensor", "dtype": "object", "shape": [2], "at": 0, "n": 16, "grad": False},
        {"$": "tensor", "dtype": ["float32"], "shape": [4], "at": 0, "n": 16, "grad": False},
        {"$": "tensor", "dtype": "bool", "shape": [16], "at": 0, "n": 16, "grad": False},
        {"$": "tensor", "shape": [4], "at": 0, "n": 16},
        *({"$": "tensor", "dtype": "int8", "shape": [4, 4], "at": 0, "n": 16, "order": order}
          for order in ([0], [0, 0], [0, 1, 1], [1, 2], [-1, 0], "10", None, [[0], 1], ["0", "1"])),
        {"$": "bytes", "at": 0, "n": 17}, {"$": "bytes", "at": 2**70, "n": 1}, {"$": "bytes", "at": True, "n": 1}, {"$": "bytes"},
        {"$": "int", "v": "1" * 5000}, {"$": "int", "v": "ten"}, {"$": "int", "v": 3}, {"$": "float", "v": "1.5"}, {"$": "float", "v": []},
        {"$": "tuple", "v": 3}, {"$": "tuple"}, {"$": "dict", "v": [[1]]}, {"$": "dict", "v": [[[1], 2]]}, {"$": "dict", "v": {"a": 1}},
        {"$": "dtype", "v": "object"}, {"$": "device", "v": "nowhere:-3"}, {"$": "device", "v": {}}, {"$": "pickle", "v": ""},
        {"$": ["tensor"]}, {"$": None}, {"v": 1}, {}, {"$": "handle"}, {"$": "data", "v": []}, {"$": "named", "v": None},
    ],
    ids=lambda tree: json.dumps(tree)[:60],
)  # fmt: skip
def test_a_lying_tree_is_refused(tree):
    with pytest.raises(wire.WireError):
        decode_tree(tree, b"\x02" * 16)


def test_too_many_values_are_refused_before_they_are_made():
    with pytest.raises(wire.WireError, match="too many"):
        wire.decode(b"[" + b"0," * wire.MAX_NODES + b"0]", b"", refuse)


def test_an_unknown_or_ill_filled_dataclass_is_refused():
    for name, values in (("Popen", {}), ("Config", {"nonsense": 1}), ([], {})):
        tree = {"$": "data", "type": name, "v": values}
        with pytest.raises(wire.WireError):
            wire.decode(json.dumps(tree).encode(), b"", lambda t: wire.data_value(t, kit_dataclasses()))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
kinds = st.sampled_from(["int", "float", "tuple", "dict", "bytes", "tensor", "dtype", "device", "data", "handle", "callable", "named", "x"])
fields = st.fixed_dictionaries(
    {"$": kinds},
    optional={
        "v": json_values,
        "at": st.integers(-(2**70), 2**70) | json_values,
        "n": st.integers(-(2**70), 2**70) | json_values,
        "dtype": st.sampled_from([*wire.DTYPES, "object"]) | json_values,
        "shape": st.lists(st.integers(-(2**70), 2**70), max_size=20) | json_values,
        "grad": json_values,
        "id": json_values,
        "type": json_values,
    },
)


def survives(header: bytes, payload: bytes) -> None:
    """A value or a WireError; anything else is a hole."""

    def resolve(tree: dict[str, Any]) -> Any:
        return wire.data_value(tree, kit_dataclasses()) if tree["$"] == "data" else None

    with contextlib.suppress(wire.WireError):
        wire.decode(header, payload, resolve)


@GENTLE
@given(fields | st.lists(fields, max_size=3), st.binary(max_size=64))
def test_no_tree_gets_past_the_checks_with_another_error(tree, payload):
    survives(json.dumps(tree).encode(), payload)


@GENTLE
@given(st.binary(max_size=200), st.binary(max_size=64))
def test_no_bytes_get_past_the_checks_with_another_error(header, payload):
    survives(header, payload)


@GENTLE
@given(st.data())
def test_a_frame_with_a_few_bytes_changed_does_no_harm(data):
    frame = bytearray(wire.encode([torch.arange(6.0), {"a": (1, b"xy")}, 2**80, math.nan], lambda other: None))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        header_bytes, payload_bytes = wire.lengths(bytes(frame[: wire.HEAD.size]))
    except wire.WireError:
        return
    rest = bytes(frame[wire.HEAD.size :])
    survives(rest[:header_bytes], rest[header_bytes : header_bytes + payload_bytes])


@GENTLE
@given(st.binary(max_size=wire.HEAD.size * 2))
def test_a_head_of_any_bytes_and_length_is_a_wire_error_or_within_the_limits(head):
    try:
        header_bytes, payload_bytes = wire.lengths(head[: wire.HEAD.size])
    except wire.WireError:
        return
    assert header_bytes <= wire.MAX_HEADER_BYTES
    assert payload_bytes <= wire.MAX_PAYLOAD_BYTES


# The grader's end, against a worker that lies


@pytest.fixture
def talk(monkeypatch):
    """Sends bytes to a grader's connection as a worker would, then ends; gives what a request makes of it."""
    from autograder.sandbox.confine.budget import Budget
    from autograder.sandbox.confine.limits import Limits
    from autograder.sandbox.process import channel
    from autograder.sandbox.protocol.worker_errors import WorkerDied

    def request(sent: bytes, *, stay: bool = False) -> WorkerDied:
        connection = object.__new__(channel.WorkerChannel)
        connection.limits, connection.resolve, connection.callables, connection.seq = Limits(), refuse, {}, 0
        connection.pid, connection.budget = 0, Budget(Limits())
        monkeypatch.setattr(connection, "close", lambda: None, raising=False)
        ours, theirs = socket.socketpair()
        connection._use(ours)
        theirs.sendall(sent)
        if not stay:
            theirs.shutdown(socket.SHUT_WR)
        monkeypatch.setattr(channel, "Deadline", _soon(channel.Deadline))
        with connection.socket, theirs, pytest.raises(WorkerDied) as died:
            connection.request("defined", 0.3, names=[])
        return died.value

    return request


def _soon(deadline: Any) -> Any:
    import os

    return lambda pid, seconds, factor: deadline(os.getpid(), seconds, 1.0)


def frame(value: Any) -> bytes:
    return wire.encode(value, lambda other: None)


def test_half_frames_are_the_end_of_the_process(talk):
    whole = frame({"seq": 1, "ok": "x" * 100})
    for cut in (0, 1, wire.HEAD.size - 1, wire.HEAD.size, wire.HEAD.size + 3, len(whole) - 1):
        assert talk(whole[:cut]).outcome == "crashed"


def test_a_worker_that_says_half_and_waits_runs_out_of_time(talk):
    assert talk(frame({"seq": 1, "ok": 0})[:-2], stay=True).outcome == "timeout"


@pytest.mark.parametrize(
    "reply",
    [
        [1, 2], "ok", {"seq": 2, "ok": 0}, {"ok": 0}, {"callback": 5, "args": [], "kwargs": {}},
        {"callback": "len"}, {"callback": 0, "args": 3, "kwargs": []},
    ],
    ids=repr,
)  # fmt: skip
def test_replies_that_nobody_asked_for_are_nonsense(talk, reply):
    died = talk(frame(reply))
    assert died.outcome == "crashed"
    assert "nonsense" in str(died)


# Nothing of a value's own class runs while it is sent


class Busy:
    """What a class of a submission's may do at each turn."""

    def refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("it ran")


class BusyList(list, Busy):
    __iter__ = __len__ = Busy.refuse


class BusyDict(dict, Busy):
    items = __iter__ = Busy.refuse


class BusyTuple(tuple, Busy):
    __iter__ = Busy.refuse


class BusyFloat(float, Busy):
    __float__ = Busy.refuse


class BusyInt(int, Busy):
    __int__ = __index__ = Busy.refuse


class BusyBytes(bytes, Busy):
    __bytes__ = __iter__ = __len__ = Busy.refuse


class BusyTensor(torch.Tensor):
    detach = numpy = Busy.refuse

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError("it ran")


@pytest.mark.parametrize(
    ("base", "busy", "content"),
    [
        (list, BusyList, [1, 2]), (dict, BusyDict, {"a": 1}), (tuple, BusyTuple, (1, 2)), (float, BusyFloat, 1.5), (int, BusyInt, 3),
        (bytes, BusyBytes, b"ab"),
    ],
)  # fmt: skip
def test_a_class_of_the_students_does_nothing_while_it_is_sent(base, busy, content):
    value = busy(content)
    got = there_and_back(value)
    assert type(got) is base
    assert base.__eq__(got, value) is True


def test_an_ordered_dict_keeps_its_order():
    value = OrderedDict(a=1, b=2)
    value.move_to_end("a")
    assert list(there_and_back(value)) == ["b", "a"]


def test_a_tensor_of_a_class_of_the_students_is_what_lies_in_memory():
    with torch._C.DisableTorchFunctionSubclass():
        value = torch.arange(3.0).as_subclass(BusyTensor)
    got = there_and_back(value)
    assert type(got) is torch.Tensor
    assert got.tolist() == [0.0, 1.0, 2.0]
    weight = torch.nn.Parameter(torch.ones(2, 3)[:, :2].T)
    with torch.no_grad():
        assert there_and_back(weight).requires_grad
    assert torch.equal(there_and_back(weight), weight)


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, (2,))

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return torch.rand(2)


def test_a_tensor_that_makes_its_values_when_asked_is_not_sent():
    with pytest.raises(wire.WireError, match="a Wrapped cannot be sent"):
        there_and_back(Wrapped())
