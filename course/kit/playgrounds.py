"""The controls and playgrounds of the lessons, with a sentence and a still figure where ipywidgets is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import widgets

CONTROLS = ("FloatSlider", "IntSlider", "Text")
"""The names that this module has from ipywidgets. Without ipywidgets, each is a `FirstValue`."""
NEEDED = "This playground needs ipywidgets: run `pip install ipywidgets` in a terminal, then restart the kernel."


def interact(*functions: Any, **controls: Any) -> Any:
    """Return ipywidgets' interact, with names for a screen reader on its sliders.

    Without ipywidgets, print a sentence that says so, and call the function once with the controls' first values.
    """
    if _library() is not None:
        return widgets.interact(*functions, **controls)

    def still(function: Callable[..., Any]) -> Callable[..., Any]:
        print(NEEDED)
        if all(isinstance(control, FirstValue) for control in controls.values()):
            function(**{name: control.value for name, control in controls.items()})
        return function

    return still(functions[0]) if functions else still


def sampler_playground(*args: Any, **options: Any) -> Any:
    """Return `widgets.sampler_playground`, or without ipywidgets a sentence to be displayed."""
    return Sentence(NEEDED) if _library() is None else widgets.sampler_playground(*args, **options)


class Sentence:
    """A sentence in place of a playground."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class FirstValue:
    """A control without ipywidgets: its first value."""

    def __init__(self, value: Any, *limits: Any, **options: Any) -> None:
        self.value = value


def _library() -> Any:
    """Return ipywidgets, or None if it is not installed."""
    try:
        import ipywidgets
    except ImportError:
        return None
    return ipywidgets


if not TYPE_CHECKING:  # a type checker that saw it would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in CONTROLS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return FirstValue if (ipywidgets := _library()) is None else getattr(ipywidgets, name)
