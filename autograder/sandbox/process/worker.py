"""The worker: the process that runs a student's code and answers calls. It holds no answer, no clock and no score.

Requests arrive one at a time; each is a dict with "op" and "seq", each reply repeats "seq" and holds "ok" or "error". A reply also holds
"left" if the call changed a mode of torch's for its caller. While a call runs, the worker may call back ("callback") a function or iterator
that stayed with the grader.

    start     earlier: {topic: source}, seed, threads,       -> None
              load: modules that take long to load
    cell      name, source                                   runs a cell   -> None
    call      name, args, kwargs, unchanged, rng_unchanged   a student's function; with `unchanged` or `rng_unchanged` the result
                                                             is {"result", "args", "rng"}: the arguments as they are after the
                                                             call, torch's random state before and after; the grader compares
    again     name, args, kwargs, then                       two calls, `then` written into the memory of `args` in between: both results
    series    name, args, kwargs, then                       the results of calling the call's result with each of `then`, all as they
                                                             are at the end
    meta      name or target, args, kwargs                   a call with every tensor on the meta device: see `meta.rehearse`
    gpu       name, args, kwargs, then                       `series` on a CUDA emulator: see `cuda_emulator.rehearse`
    await     name or target, args, kwargs                   a coroutine or async generator on a loop of its own: see `awaited`
    step      number, request, stop                          one step of a batch: another request, which may name results of earlier steps;
                                                             skipped if one of them is missing, or with `stop` if an earlier step raised
    method    target, name, args, kwargs                     calls a method
    apply     target (a handle), args, kwargs                calls a handle
    attr      target, name                                   an attribute
    setattr   target, name, value                            sets an attribute
    dunder    target, name, args                             an operator from a fixed list: see DUNDERS
    value     name                                           the value of a name
    generator seed                                           a torch.Generator here
    rng_state                                                torch's global random state
    gradients on                                             torch's gradient mode before the request; then it is set, unless `on` is None
    forget    number                                         drops a handle: an object without other references ends here
    defined   names                                          the names among them that exist
    counting  on, machine, fast_bytes, python                on: counts the work of later calls; off: returns the counts.
                                                             machine: the rates of a simulated machine whose clock the calls read;
                                                             fast_bytes: the size of the fast memory; python: watch Python's own memory too
    watching  on                                             the same for fingerprints of computed tensors: see
                                                             `trace_fingerprints.watching`
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import importlib.abc
import importlib.util
import inspect
import linecache
import os
import socket
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from course.kit.virtual_loop import run_virtual, virtual_asyncio

from ..measure import cuda_emulator
from ..measure.meta import GivenByTheChecks, rehearse
from ..measure.op_counter import counting
from ..measure.simulated_machine import SimulatedMachine
from ..measure.trace_fingerprints import Fingerprint, watching
from ..protocol import wire
from ..protocol.shared_objects import holds_tensors, kit_dataclasses, named
from ..protocol.text import cell_title


def _set_item(target: Any, key: Any, value: Any) -> None:
    target[key] = value


def _delete_item(target: Any, key: Any) -> None:
    del target[key]


def _exit(target: Any, name: str, message: str) -> None:
    """Leave a context: with an exception of the builtin class `name`, or without an exception if `name` is empty."""
    kind = vars(builtins).get(name)
    error = kind(message) if isinstance(kind, type) and issubclass(kind, Exception) else Exception(message) if name else None
    type(target).__exit__(target, None if error is None else type(error), error, None)


DUNDERS: dict[str, Callable[..., Any]] = {
    "len": len,
    "iter": iter,
    "next": next,
    "getitem": lambda target, key: target[key],
    "setitem": _set_item,
    "delitem": _delete_item,
    "enter": lambda target: type(target).__enter__(target),
    "exit": _exit,
    "bool": bool,
    "contains": lambda target, item: item in target,
    "str": str,
}


# Bound before a student's line runs, so that replacing torch's functions changes nothing here.
_random_state = torch.default_generator.get_state
_is_grad_enabled, _set_grad_enabled = torch.is_grad_enabled, torch._C._set_grad_enabled
_inference_mode = torch.is_inference_mode_enabled
_default_dtype, _set_default_dtype = torch.get_default_dtype, torch.set_default_dtype
_identity = id

RUN_TO_THE_END = frozenset({"call", "again", "series", "meta", "gpu", "await", "method", "apply"})
"""Requests that run a function of the student's to its end. An iterator's `next` and a context's `enter` stop in the middle of one."""


def gradients(on: bool | None = None) -> str:
    """Return torch's gradient mode, then set it unless `on` is None.

    The mode is "on", "off" or "inference". Setting gradients does not end "inference".
    """
    mode = "inference" if _inference_mode() else "on" if _is_grad_enabled() else "off"
    if on is not None:
        _set_grad_enabled(on)
    return mode


@contextlib.contextmanager
def noting_modes(request: dict[str, Any], reply: dict[str, Any]) -> Iterator[None]:
    """Add to the reply under "left" which of torch's modes a call has changed, {mode: [before, after]}, and put them back."""
    if request.get("request", request)["op"] not in RUN_TO_THE_END:
        yield
        return
    before = mode, dtype = gradients(), _default_dtype()
    try:
        yield
    finally:
        after = gradients(), _default_dtype()
        if after != before:
            pairs = zip(("gradients", "dtype"), before, after, strict=True)
            reply["left"] = {name: [str(old), str(new)] for name, old, new in pairs if old != new}
            _set_grad_enabled(mode == "on")
            _set_default_dtype(dtype)


def leave(*ignored: Any) -> None:
    raise SystemExit


@contextlib.contextmanager
def leaving_raises(namespace: dict[str, Any], op: str) -> Iterator[None]:
    """Make `exit()` and `quit()` in a function end its call, as `sys.exit()` does.

    IPython's own `exit` and `quit` return, and end the kernel after the cell.
    """
    stock = {} if op == "cell" else {n: v for n in ("exit", "quit") if type(v := namespace.get(n)).__name__ in EXITS}
    namespace.update(dict.fromkeys(stock, leave))
    try:
        yield
    finally:
        namespace.update({name: value for name, value in stock.items() if namespace.get(name) is leave})


EXITS = ("ExitAutocall", "ZMQExitAutocall")


class EarlierFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Importer of `solutions.<topic>` for earlier days, from source that the grader sent; no other solution exists here."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        package, _, topic = fullname.partition(".")
        if package != "solutions":
            return None
        if not topic:
            return importlib.util.spec_from_loader(fullname, self, is_package=True)
        if topic in self.sources:
            return importlib.util.spec_from_loader(fullname, self)
        raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        topic = module.__name__.partition(".")[2]
        if topic:
            exec(compile(self.sources[topic], f"<reference {topic}>", "exec"), module.__dict__)


def student_stub() -> types.ModuleType:
    """Return the `autograder.student` module for a worker. It has the same names; all but `earlier` do nothing."""
    module = types.ModuleType("autograder.student")

    def earlier(topic: str) -> types.ModuleType:
        return importlib.import_module(f"solutions.{topic}")

    def nothing(*args: object, **kwargs: object) -> None:
        return None

    for name in ("check", "hint", "judge_test", "progress", "rung", "set_record", "typed"):
        setattr(module, name, nothing)
    module.earlier = earlier  # type: ignore[attr-defined]
    module.if_solved = lambda *names: False  # type: ignore[attr-defined]
    return module


class Worker:
    def __init__(self, connection: socket.socket, shell: Any) -> None:
        self.connection = connection
        self.shell = shell
        self.unread = bytearray()
        self.namespace: dict[str, Any] = shell.user_ns
        self.handles: dict[int, Any] = {}
        self.cell_files: dict[str, str] = {}
        self.counter: counting | SimulatedMachine | None = None
        self.watcher: watching | None = None
        self.threads = 0
        self.results: dict[int, Any] = {}
        """Results of the steps of the current batch, by number."""
        self.raised, self.lacking = False, False
        """Two flags: a step of the batch raised; the latest request names a result that does not exist."""

    # The loop

    def serve(self) -> None:
        while (request := self.receive()) is not None:
            reply: dict[str, Any] = {"seq": request["seq"]}
            try:
                with virtual_asyncio(), self.counter or contextlib.nullcontext():
                    with (
                        self.watcher or contextlib.nullcontext(),
                        leaving_raises(self.namespace, request["op"]),
                        noting_modes(request, reply),
                    ):
                        result = self.handle(request)
                    if isinstance(self.counter, counting):
                        self.counter.note_python()
                    frame = self.encode({**reply, "ok": result})  # in here: what an answer leaves for now is counted too
            except StopIteration:
                frame = self.encode({**reply, "stop": True})
            except wire.WireError as error:
                frame = self.encode({**reply, "error": {"names": ["WireError"], "message": str(error), "lines": []}})
            except BaseException as error:
                frame = self.encode({**reply, "error": self.describe(error)})
            self.connection.sendall(frame)

    def handle(self, request: dict[str, Any]) -> Any:
        match request["op"]:
            case "start":
                return self.start(request)
            case "cell":
                return self.cell(request["name"], request["source"])
            case "call":
                return self.call(request)
            case "again":
                return self.again(request)
            case "series":
                return self.series(request)
            case "meta":
                function = request["target"] if "target" in request else self.function(request["name"])
                return rehearse(function, request["args"], request["kwargs"], is_student_file)
            case "gpu":
                return cuda_emulator.rehearse(self.function(request["name"]), request["args"], request["kwargs"], request["then"])
            case "await":
                thing = request["target"] if "target" in request else self.function(request["name"])
                return awaited(thing, request["args"], request["kwargs"])
            case "step":
                return self.step(request)
            case "method":
                return getattr(request["target"], request["name"])(*request["args"], **request["kwargs"])
            case "apply":
                return request["target"](*request["args"], **request["kwargs"])
            case "attr":
                return getattr(request["target"], request["name"])
            case "setattr":
                setattr(request["target"], request["name"], request["value"])
                return None
            case "value":
                return self.value(request["name"])
            case "dunder":
                return DUNDERS[request["name"]](request["target"], *request["args"])
            case "generator":
                return torch.Generator().manual_seed(request["seed"])
            case "rng_state":
                return torch.get_rng_state()
            case "gradients":
                return gradients(request["on"])
            case "forget":
                self.handles.pop(request["number"], None)
                return None
            case "defined":
                return [name for name in request["names"] if name in self.namespace]
            case "counting":
                return self.count(request["on"], request["machine"], request["fast_bytes"], request["python"])
            case "watching":
                return self.watch(request["on"])
        raise wire.WireError(f"an unknown request {request['op']!r}")

    # Requests

    def start(self, request: dict[str, Any]) -> None:
        for name in request["load"]:
            importlib.import_module(name)
        sys.meta_path.insert(0, EarlierFinder(request["earlier"]))
        for name in [name for name in sys.modules if name.startswith("solutions")] if "solutions" in sys.modules else []:
            del sys.modules[name]
        sys.modules["autograder.student"] = student_stub()
        torch.manual_seed(request["seed"])
        if request["threads"]:
            self.threads = request["threads"]
            torch.set_num_threads(self.threads)

    def cell(self, name: str, source: str) -> None:
        """Run a cell as a notebook would: magics, displays and a top-level await work; printed output is discarded."""
        result = self.shell.run_cell(source, store_history=False, silent=True)
        error = result.error_before_exec or result.error_in_exec
        if isinstance(error, SyntaxError) and is_student_file(str(error.filename)):
            error.filename = cell_title(name)  # IPython's own name for the cell means nothing to the student
        if error is not None:
            raise error

    def function(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = self.value(name)
        if not callable(function):
            raise TypeError(f"{name} is not a function but a value of type {type(function).__name__}")
        return function

    def value(self, name: str) -> Any:
        value = self.namespace.get(name)
        if value is None:
            raise NameError(f"name {name!r} is not defined")
        return value

    def call(self, request: dict[str, Any]) -> Any:
        function = self.function(request["name"])
        args, kwargs = request["args"], request["kwargs"]
        if not (request["unchanged"] or request["rng_unchanged"]):
            return function(*args, **kwargs)
        given = [*args, *kwargs.values()]
        before = _random_state()
        result = function(*args, **kwargs)
        return {
            "result": result,
            "args": given if request["unchanged"] else [],
            "rng": [before, _random_state()] if request["rng_unchanged"] else [],
        }

    def again(self, request: dict[str, Any]) -> list[Any]:
        """Return the results of two calls, read after the second.

        Before the second call, other values are written into the memory of the first call's arguments.
        """
        function, args, kwargs = self.function(request["name"]), request["args"], request["kwargs"]
        first = function(*args, **kwargs)
        with torch.no_grad():
            args = overwritten(args, request["then"])
        return [first, function(*args, **kwargs)]

    def series(self, request: dict[str, Any]) -> list[Any]:
        """Call a function, call its result with each input in turn, and return the results, all read after the last call."""
        step = self.function(request["name"])(*request["args"], **request["kwargs"])
        return [step(*each) for each in request["then"]]

    def step(self, request: dict[str, Any]) -> Any:
        if request["number"] == 0:
            self.results, self.raised = {}, False
        if self.lacking or (self.raised and request["stop"]):
            raise RuntimeError("not played")
        try:
            result = self.results[request["number"]] = self.handle(request["request"])
        except BaseException:
            self.raised = True
            raise
        return result

    def count(self, on: bool, machine: dict[str, float] | None, fast_bytes: int | None, python: bool) -> dict[str, int] | None:
        if on:
            if self.threads:  # a cell that has changed it would have work done in threads of torch's own
                torch.set_num_threads(self.threads)
            self.counter = counting(fast_bytes, python=python) if machine is None else SimulatedMachine(self.namespace, **machine)
            return None
        counter, self.counter = self.counter, None
        return counter.work.as_dict() if counter is not None else None

    def watch(self, on: bool) -> list[Fingerprint] | None:
        if on:
            self.watcher = watching()
            return None
        watcher, self.watcher = self.watcher, None
        return watcher.fingerprints if watcher is not None else None

    def describe(self, error: BaseException) -> dict[str, Any]:
        """Describe an exception: names (most derived first), message, and the student's own lines of the traceback."""
        lines = []
        for frame in traceback.extract_tb(error.__traceback__):
            if is_student_file(frame.filename):
                source = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip()
                lines.append(f"{frame.name}, line {frame.lineno}: {source[:200]}")
        try:
            message = str(error)[:2000]
        except BaseException:
            message = "(the exception has no readable message)"
        names = [cls.__name__[:80] for cls in type(error).__mro__ if cls not in (object, BaseException)]
        if isinstance(error, SyntaxError) and error.lineno:
            lines.append(f"line {error.lineno}: {(error.text or '').strip()[:200]}")
        return {"names": names[:12], "message": message, "lines": lines[-6:]}

    # The wire

    def receive(self) -> dict[str, Any] | None:
        head = self.read(wire.HEAD.size)
        if head is None:
            return None
        header_bytes, payload_bytes = wire.lengths(head)
        self.lacking = False
        header, payload = self.read(header_bytes), self.read(payload_bytes)
        if header is None or payload is None:
            return None
        return wire.decode(header, payload, self.resolve)

    def read(self, n: int) -> bytearray | None:
        """Return the next n bytes, None at the end.

        If more than n bytes arrive, the rest is buffered for the next call: a whole frame usually arrives in one piece.
        """
        while len(self.unread) < n:
            piece = self.connection.recv(max(65_536, min(n - len(self.unread), 1 << 20)))
            if not piece:
                return None
            self.unread += piece
        taken, self.unread = self.unread[:n], self.unread[n:]
        return taken

    def encode(self, value: Any) -> bytes:
        return wire.encode(value, self.extra, reply=True)

    def extra(self, value: Any) -> dict[str, Any]:
        data = wire.data_tree(value, kit_dataclasses())
        if data is not None and type(value).__name__ in ("Config", "ChatMessage"):
            return data
        number = _identity(value)
        self.handles[number] = value
        return {"$": "handle", "id": number, "type": type(value).__name__, "callable": callable(value)}

    def resolve(self, tree: dict[str, Any]) -> Any:
        match tree["$"]:
            case "handle":
                return self.handles[tree["id"]]
            case "callable":
                return (AsyncCallback if tree["waits"] else Callback)(self, tree["id"])
            case "result":
                self.lacking |= tree["id"] not in self.results
                return self.results.get(tree["id"])
            case "named":
                return named(tree["kind"], **tree["v"])
            case "data":
                return wire.data_value(tree, kit_dataclasses())
        raise wire.WireError("an unknown kind of value")

    def ask_back(self, number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        request = {"callback": number, "method": method, "args": list(args), "kwargs": dict(kwargs)}
        self.connection.sendall(self.encode({**request, "grad": _is_grad_enabled()}))
        reply = self.receive()
        if reply is None:
            os._exit(0)
        if "stop" in reply:
            raise StopIteration
        if "error" in reply:
            raise RuntimeError(f"the given function raised {reply['error']}")
        return reply["ok"]


class Callback(GivenByTheChecks):
    """A function or iterator that stayed with the grader, as the student's code sees it."""

    def __init__(self, worker: Worker, number: int) -> None:
        self._worker = worker
        self._number = number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._worker.ask_back(self._number, "__call__", args, kwargs)

    def __iter__(self) -> Callback:
        return self

    def __next__(self) -> Any:
        return self._worker.ask_back(self._number, "__next__", (), {})


class AsyncCallback(Callback):
    """A coroutine function that stayed with the grader. Awaiting it returns at once."""

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)


def awaited(thing: Any, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Await a call or an object on a new event loop. Return the result, the loop's seconds, and the times of a generator's items.

    An async generator is read to its end.
    """
    times: list[float] = []

    async def main() -> Any:
        made = thing(*args, **kwargs) if callable(thing) else thing
        if not hasattr(made, "__aiter__"):
            return await made if inspect.isawaitable(made) else made
        items = []
        async for item in made:
            items.append(item)
            times.append(asyncio.get_running_loop().time())
            if len(items) > wire.MAX_REPLY_NODES:
                raise wire.WireError("too many values to send")
        return items

    result, seconds = run_virtual(main())
    return {"result": result, "seconds": seconds, "times": times}


def is_student_file(filename: str) -> bool:
    return "ipykernel" in filename or filename.startswith(("<ipython-input", "<cell"))


def overwritten(old: Any, new: Any) -> Any:
    """Write the values of `new` into `old` and return it.

    Tensors of one shape and dtype keep their memory, lists and objects with weights stay the same object; anything else is replaced by
    `new`.
    """
    if type(old) is not type(new):
        return new
    if isinstance(old, Tensor):
        return old.copy_(new) if old.shape == new.shape and old.dtype == new.dtype else new
    if isinstance(old, list):
        old[:] = [overwritten(*pair) for pair in zip(old, new, strict=False)] + new[len(old) :]
        return old
    if holds_tensors(new) or type(new).__name__ == "WeightsOnly":
        for name, value in list(vars(new).items()):
            setattr(old, name, overwritten(getattr(old, name), value))
        return old
    return new


def _leave() -> None:
    raise SystemExit("exit() ends the notebook: remove the call")


def make_shell() -> Any:
    """Return an IPython shell without history, threads or terminal, which runs cells as a notebook does."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    shell = InteractiveShell.instance(config=config)
    shell.ask_exit = _leave  # type: ignore[attr-defined]
    # A cell's own exception is reported over the wire; the shell prints nothing.
    shell.showtraceback = lambda *args, **kwargs: None  # type: ignore[method-assign]
    shell.showsyntaxerror = lambda *args, **kwargs: None  # type: ignore[method-assign]
    # Nor does it store what is printed: an endless loop would fill the memory.
    shell._tee = lambda *args, **kwargs: contextlib.nullcontext()  # type: ignore[method-assign, assignment]
    return shell
