"""The proxy that a test gets in place of a version. This text runs as a cell in the test's own process; it is not imported there.

The version is in another process, and between the two is the judge, which passes on calls, attributes and results. So a test sees
what a caller sees: results, exceptions, and arguments that were changed in place. It sees neither code nor name of a version.
"""

from typing import Any


def judged_test_run(ask: Any, test_name: str, exercise: str, seed: int) -> Any:
    """Run a test on the version that `ask` reaches. Return "returned" if the test returns a value. Raises the test's exception.

    The test's cells share this namespace and may redefine its names. So all helpers have a prefix, and imports are inside functions.
    """
    import random

    import numpy
    import torch

    version = _judged_version(ask, exercise)
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    return None if globals()[test_name](version) is None else "returned"


def _judged_version(ask: Any, exercise: str) -> Any:
    """Return a function with the exercise's name that passes each call on to the version."""

    def came(request: dict[str, Any], args: Any = ()) -> Any:
        """Send one request and return or raise its outcome. Copy the version's changes back into the arguments."""
        reply = ask(request)
        if "raised" in reply:
            if reply["raised"][:1] == ["StopIteration"]:
                raise StopIteration
            raise _judged_exception(reply["raised"], reply["message"])
        for old, new in zip(args, reply.get("after", ()), strict=False):
            _judged_write_back(old, new)
        if "thing" in reply:
            return _JudgedThing(came, reply["thing"], reply["type"])
        return reply["value"]

    def version(*args: Any, **kwargs: Any) -> Any:
        return came({"op": "call", "args": list(args), "kwargs": kwargs}, (*args, *kwargs.values()))

    version.__name__ = version.__qualname__ = exercise
    return version


def _judged_exception(classes: list[str], message: str) -> BaseException:
    """Make an exception of the class that the version raised: the test's own class of this name, or the nearest built-in class."""
    import builtins

    known = {**vars(builtins), **globals()}
    for number, name in enumerate(classes):
        kind = known.get(name)
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            continue
        if [each.__name__ for each in kind.__mro__[: len(classes) - number]] == classes[number:]:
            return type(classes[0], (kind,), {})(message) if number else kind(message)
    return type(classes[0], (Exception,), {})(message)


def _judged_write_back(old: Any, new: Any) -> None:
    """Copy the version's changes to an argument into the test's own object."""
    import torch

    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
        if old.shape == new.shape and old.dtype == new.dtype and not torch.equal(old, new):
            with torch.no_grad():
                old.copy_(new)
    elif isinstance(old, list) and isinstance(new, list):
        for pair in zip(old, new, strict=False):
            _judged_write_back(*pair)
        if len(old) != len(new) or any(not isinstance(each, torch.Tensor | list | dict) for each in new):
            old[:] = new
    elif isinstance(old, dict) and isinstance(new, dict) and old.keys() != new.keys():
        old.clear()
        old.update(new)


class _JudgedThing:
    """A handle for an object in the version's process. Each use of the handle is passed on to that process."""

    def __init__(self, came: Any, number: int, type_name: str) -> None:
        vars(self).update(_JudgedThing__came=came, _JudgedThing__number=number, _JudgedThing__type=type_name)

    def __ask(self, op: str, *args: Any, **more: Any) -> Any:
        return self.__came({"op": op, "thing": self.__number, "args": list(args), **more})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__ask("call", *args, kwargs=kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.__ask("attr", name)
        if isinstance(value, _JudgedThing) and value.__type == "method":
            vars(self)[name] = value  # asked for once
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        self.__ask("setattr", name, value)

    def __len__(self) -> int:
        return int(self.__ask("len"))

    def __iter__(self) -> Any:
        return self.__ask("iter")

    def __next__(self) -> Any:
        return self.__ask("next")

    def __getitem__(self, key: Any) -> Any:
        return self.__ask("getitem", key)

    def __contains__(self, item: Any) -> bool:
        return bool(self.__ask("contains", item))

    def __repr__(self) -> str:
        return f"a {self.__type}"


_JudgedThing.__name__ = _JudgedThing.__qualname__ = "Thing"  # in error messages
