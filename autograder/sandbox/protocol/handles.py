"""The grader's proxies for a student's functions and objects: calls go over the wire, objects stay in the worker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from ...authoring import CheckFailed, show
from .comparing import snapshot
from .wire import MAX_REPLY_NODES, WireError
from .worker_errors import LOST, WorkerDied, builtin_name, compare_arguments, compare_random_states


class Asks(Protocol):
    """The interface to which functions and handles send requests; `WorkerSession` implements it.

    generation: the number of workers started so far; a handle belongs to one worker.
    """

    generation: int

    def ask(self, op: str, *, function: str = "", **fields: Any) -> Any: ...

    def ask_each(self, op: str, many: Iterable[dict[str, Any]], *, function: str) -> Iterator[Any]: ...

    def nonsense(self, what: str) -> WorkerDied: ...


@dataclass(frozen=True)
class Rehearsal:
    """The outcome of a call on the meta device. result: {shape, dtype, device} in place of each tensor.

    stray: the student's line that made a tensor on another device, or "". asked: the student's line that read a value of a meta tensor and
    so ended the call, or "".
    """

    result: Any
    stray: str
    asked: str


@dataclass(frozen=True)
class Awaited:
    """The result of a coroutine, or the list of an async generator's items.

    seconds: the loop's clock at the end; times: the same clock at each item of a generator.
    """

    result: Any
    seconds: float
    times: list[float]


class RemoteFunction:
    """A student's function or class, called over the pipe. A class's attributes can be read: `student.State.empty(shape)`."""

    wire_tree = None
    """No tree: a function does not cross, but `student.value(name)` does."""

    def __init__(self, session: Asks, name: str) -> None:
        self._session = session
        self._name = name

    def __call__(
        self, *args: Any, _unchanged: bool = False, _rng_unchanged: bool = False, _arguments: bool = False, **kwargs: Any
    ) -> Any:
        call = _Call(self._name, args, kwargs, _unchanged, _rng_unchanged, _arguments)
        check_generation(self._session, args, kwargs)
        reply = self._session.ask("call", function=self._name, **call.request())
        return call.result(self._session, reply)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._session.ask("value", function=self._name, name=self._name), name)

    def awaited(self, *args: Any, **kwargs: Any) -> Awaited:
        """Call and await a coroutine function or async generator, on an event loop without sockets whose clock jumps to the next timer."""
        check_generation(self._session, args, kwargs)
        fields = {"name": self._name, "args": list(args), "kwargs": kwargs}
        return awaited(self._session, self._session.ask("await", function=self._name, **fields))

    def again(self, args: list[Any], then: list[Any], **kwargs: Any) -> tuple[Any, Any]:
        """Return the results of two calls; `then` is written into the tensors, lists and weights of `args` before the second.

        The second call exposes two mistakes. A result cached for the same arguments is stale at the second call, however the function
        recognizes them. A result in reused memory is overwritten.
        """
        match self._several("again", args, then, kwargs):
            case [first, second]:
                return first, second
        raise self._session.nonsense("one result of two calls")

    def series(self, *args: Any, then: list[list[Any]], **kwargs: Any) -> list[Any]:
        """Call the function, call its result with each of `then`, and return those results, all read after the last call."""
        results = self._several("series", args, then, kwargs)
        if isinstance(results, list) and len(results) == len(then):
            return results
        raise self._session.nonsense("a series without its results")

    def _several(self, op: str, args: Iterable[Any], then: list[Any], kwargs: dict[str, Any]) -> Any:
        check_generation(self._session, (*args, *then), kwargs)
        fields = {"name": self._name, "args": list(args), "kwargs": kwargs, "then": then}
        return self._session.ask(op, function=self._name, **fields)

    def on_meta(self, *args: Any, **kwargs: Any) -> Rehearsal:
        """Make one call with every tensor on the meta device: shapes and dtypes, no values. See `meta.py`."""
        check_generation(self._session, args, kwargs)
        reply = self._session.ask("meta", function=self._name, name=self._name, args=list(args), kwargs=kwargs)
        return _rehearsal(self._session, reply)

    def on_gpu(self, *args: Any, then: list[list[Any]], **kwargs: Any) -> dict[str, Any]:
        """Make one call on a CUDA emulator, then call its result with each of `then`. See `cuda_emulator.rehearse`."""
        match self._several("gpu", args, then, kwargs):
            case {"results": list(), "made": dict(), "called": dict()} as reply:
                return dict(reply)
        raise self._session.nonsense("a rehearsal without its results")

    def each(self, inputs: Iterable[Any], *, _unchanged: bool = False, _rng_unchanged: bool = False) -> Iterator[tuple[Any, Any]]:
        """Call the function with each input as the only argument, and yield (input, result).

        An input is data, not a function. Calling `each` is faster than one call after the other.
        """
        calls = [_Call(self._name, (given,), {}, _unchanged, _rng_unchanged) for given in inputs]
        requests = [call.request() for call in calls]
        replies = self._session.ask_each("call", requests, function=self._name)
        for call, reply in zip(calls, replies, strict=True):
            yield call.args[0], call.result(self._session, reply)


def awaited(session: Asks, reply: Any) -> Awaited:
    match reply:
        case {"result": result, "seconds": float(seconds), "times": list(times)} if _is_clock([0.0, *times, seconds]):
            return Awaited(result, seconds, times)
    raise session.nonsense("a coroutine without its result")


def _is_clock(readings: list[Any]) -> bool:
    """Return whether these are finite numbers of seconds that never decrease."""
    return all(type(each) is float and math.isfinite(each) for each in readings) and readings == sorted(readings)


def _rehearsal(session: Asks, reply: Any) -> Rehearsal:
    match reply:
        case {"result": result, "stray": str(stray), "asked": str(asked)}:
            return Rehearsal(result, stray[:300], asked[:300])
    raise session.nonsense("a rehearsal without its result")


class _Call:
    """One call of a student's function: its request, and the result from its reply."""

    def __init__(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], unchanged: bool, rng_unchanged: bool, arguments: bool = False
    ) -> None:
        self.name, self.args, self.kwargs = name, args, kwargs
        self.unchanged, self.rng_unchanged, self.arguments = unchanged, rng_unchanged, arguments
        self.before = [snapshot(value) for value in [*args, *kwargs.values()]] if unchanged else []

    def request(self) -> dict[str, Any]:
        return {
            "name": self.name, "args": list(self.args), "kwargs": self.kwargs,
            "unchanged": self.unchanged or self.arguments, "rng_unchanged": self.rng_unchanged,
        }  # fmt: skip

    def result(self, session: Asks, reply: Any) -> Any:
        """Return the result of a reply. Raises CheckFailed if the call had a forbidden side effect."""
        if not (self.unchanged or self.rng_unchanged or self.arguments):
            return reply
        # The worker says how its arguments are now; the comparison is made here. A worker that lies about them lies about
        # its own side effects, and about nothing else.
        match reply:
            case {"result": result, "args": list(after), "rng": list(states)}:
                given = (len(self.args) + len(self.kwargs)) * (self.unchanged or self.arguments)
                if len(after) == given and len(states) == 2 * self.rng_unchanged:
                    if self.unchanged:
                        compare_arguments(self.name, self.before, after)
                    if states:
                        compare_random_states(self.name, *states)
                    return (result, after) if self.arguments else result
        raise session.nonsense("a reply without its arguments")


class Handle:
    """An object that stays in the worker. Attributes, calls and a fixed list of operators are forwarded.

    Two handles are equal if they represent the same object of the same worker. The grader compares them by itself, because the object's own
    `==` is not trusted.
    """

    OWN = frozenset({"_session", "_number", "type_name", "_generation", "_is_callable"})
    """Attributes of the handle itself, not of the object."""

    def __init__(self, session: Asks, number: int, type_name: str, generation: int, is_callable: bool) -> None:
        self._session, self._number, self.type_name, self._generation = session, number, type_name, generation
        self._is_callable = is_callable

    @property
    def wire_tree(self) -> dict[str, Any]:
        return {"$": "handle", "id": self._number}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._ask("attr", name=name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the object: to data, another handle, or a function that stays here. Raises TypeError for anything else."""
        if name in self.OWN:
            object.__setattr__(self, name, value)
            return
        if name.startswith("__"):
            raise TypeError(f"{name} of a {self.type_name} cannot be set from a check")
        check_generation(self._session, (value,), {})
        try:
            self._ask("setattr", name=name, value=value)
        except WireError as error:
            raise TypeError(f"{name} of a {self.type_name} cannot be set to this: {error}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[int, int, int]:
        return id(self._session), self._generation, self._number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        check_generation(self._session, args, kwargs)
        return self._ask("apply", args=list(args), kwargs=kwargs)

    def awaited(self, *args: Any, **kwargs: Any) -> Awaited:
        """Call and await this object, or await the object itself if it is a coroutine or an async generator.

        See `RemoteFunction.awaited`.
        """
        check_generation(self._session, args, kwargs)
        return awaited(self._session, self._ask("await", args=list(args), kwargs=kwargs))

    def on_meta(self, *args: Any, **kwargs: Any) -> Rehearsal:
        """Call this object with every tensor on the meta device. See `RemoteFunction.on_meta`."""
        check_generation(self._session, args, kwargs)
        return _rehearsal(self._session, self._ask("meta", args=list(args), kwargs=kwargs))

    def __len__(self) -> int:
        """Return the object's length. Raises CheckFailed if it is too long for an answer.

        `list` and similar functions allocate memory for that many items before they iterate.
        """
        length = self._dunder("len")
        if type(length) is not int or not 0 <= length <= MAX_REPLY_NODES:
            raise CheckFailed(f"len() of a {self.type_name} is {show(length)}, more than an answer may have ({MAX_REPLY_NODES:,})")
        return length

    def __iter__(self) -> Iterator[Any]:
        return self._dunder("iter")

    def __next__(self) -> Any:
        return self._dunder("next")

    def __getitem__(self, key: Any) -> Any:
        return self._dunder("getitem", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        check_generation(self._session, (key, value), {})
        self._dunder("setitem", key, value)

    def __delitem__(self, key: Any) -> None:
        self._dunder("delitem", key)

    def __enter__(self) -> Any:
        return self._dunder("enter")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Report an exception to the object by its nearest builtin class and its text.

        The object cannot swallow the exception, which may be a check's verdict.
        """
        self._dunder("exit", builtin_name(error), "" if error is None else str(error)[:2000])

    def __bool__(self) -> bool:
        return bool(self._dunder("bool"))

    def __contains__(self, item: Any) -> bool:
        return bool(self._dunder("contains", item))

    def __repr__(self) -> str:
        return f"a {self.type_name}"

    def _dunder(self, name: str, *args: Any) -> Any:
        return self._ask("dunder", name=name, args=list(args))

    def _ask(self, op: str, **fields: Any) -> Any:
        check_generation(self._session, (self,), {})
        return self._session.ask(op, target=self, **fields)


def check_generation(session: Asks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for value in [*args, *kwargs.values()]:
        if isinstance(value, Handle) and value._generation != session.generation:
            raise WorkerDied("crashed", LOST)
