"""Arguments of the student's functions that are not sent as data: named models and tokenizers, kit dataclasses.

These objects are the same on both sides of the pipe, and in a notebook.
"""

from __future__ import annotations

import copy
import functools
import weakref
from typing import Any

import torch


class TokenizerView:
    """A tokenizer's tables without its encode and decode, for the exercises of Day 2."""

    _ATTRIBUTES = (
        "name", "vocab", "ranks", "special_tokens", "byte_to_symbol", "symbol_to_byte", "id_to_token",
        "pre_tokenize", "token_bytes", "bos_token_id", "eos_token_id",
    )  # fmt: skip

    def __init__(self, tokenizer: Any) -> None:
        for name in self._ATTRIBUTES:
            setattr(self, name, getattr(tokenizer, name))

    def __getattr__(self, name: str) -> Any:
        if name in ("encode", "decode"):
            raise AttributeError(f"this tokenizer has its tables and no {name}, which is what the exercise writes")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@functools.cache
def named(kind: str, name: str, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Any:
    """Return a model without its forward pass, or a tokenizer's tables, loaded once per process."""
    from course.kit import load_model, load_tokenizer

    if kind == "tokenizer":
        return TokenizerView(load_tokenizer(name))
    if kind == "model":
        model = load_model(name, dtype=dtype, device=device).weights_only()
        _embedding_tables.add(model.weights.embed_tokens.untyped_storage().data_ptr())
        return model
    raise ValueError(f"nothing of kind {kind!r} can be named")


def own_copy(kind: str, name: str, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Any:
    """Return a copy of the result of `named` that shares nothing changeable with it: a notebook's process outlives one check."""
    thing = named(kind, name, dtype, device)
    if kind == "tokenizer":
        view = copy.copy(thing)
        vars(view).update({key: copy.copy(value) for key, value in vars(thing).items() if isinstance(value, dict | list | set)})
        return view
    model = copy.deepcopy(thing)
    table = model.weights.embed_tokens.untyped_storage().data_ptr()
    _embedding_tables.add(table)
    weakref.finalize(model, _embedding_tables.discard, table)
    return model


_embedding_tables: set[int] = set()


def embedding_tables() -> set[int]:
    """Return the memory addresses of the embedding tables of this process's named models."""
    return _embedding_tables


@functools.cache
def kit_dataclasses() -> dict[str, type]:
    """Return {name: class} of the dataclasses of course.kit that may be sent as data, and of `Scenario`."""
    import dataclasses

    import course.kit as kit
    from course.kit.ranks import Communicator
    from course.kit.serving import SamplingParams, TokenOutput

    from ..async_harness import Scenario

    names = ("Config", "LayerWeights", "Weights", "ChatMessage")
    found = {name: getattr(kit, name, None) for name in names}
    found |= {cls.__name__: cls for cls in (Communicator, SamplingParams, TokenOutput, Scenario)}
    return {name: cls for name, cls in found.items() if isinstance(cls, type) and dataclasses.is_dataclass(cls)}


def holds_tensors(value: Any) -> bool:
    """Return whether a value is a dataclass of weights.

    A dataclass of weights stays in the worker after it was sent there, and has no usable `==`.
    """
    return type(value).__name__ in ("Weights", "LayerWeights")
