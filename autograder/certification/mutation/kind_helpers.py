"""Functions that mutants by kind call. Such a mutant has the text of this file before its changed definition."""

import dataclasses
from collections import deque
from itertools import islice

import torch

FIRST_ANSWERS: dict = {}
SEEN: list = []
"""Objects whose identity is part of a key of `FIRST_ANSWERS`. As long as they exist, no other object has it."""
SHARED_TENSORS: dict = {}


def outline(value, inside=False):
    """Return all of a value but the numbers and texts in its tensors and lists: shapes, dtypes, lengths, keys and scalars."""
    if isinstance(value, torch.Tensor):
        return str((tuple(value.shape), value.dtype))
    if isinstance(value, list | tuple):
        return str([outline(each, inside=True) for each in value])
    if isinstance(value, dict):
        return str({key: outline(each, inside=True) for key, each in value.items()})
    if value is None or isinstance(value, bool | int | float | str | bytes | torch.device | torch.dtype):
        return type(value).__name__ if inside else repr(value)
    SEEN.append(value)
    return str(id(value))


def mapped(value, change):
    """Return a value with `change` applied to every tensor and number in it. Where nothing changes, the object itself is returned."""
    if isinstance(value, torch.Tensor | int | float):
        return change(value)
    if type(value) in (list, tuple):
        changed = [mapped(each, change) for each in value]
        return type(value)(changed) if any(one is not other for one, other in zip(changed, value, strict=True)) else value
    if type(value) is dict:
        return {key: mapped(each, change) for key, each in value.items()}
    if dataclasses.is_dataclass(type(value)) and type(value).__eq__ is not object.__eq__:  # objects that are compared by identity stay
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        different = {name: new for name, each in fields.items() if (new := mapped(each, change)) is not each}
        return dataclasses.replace(value, **different) if different else value
    return value


def rounded(value):
    """Return a value with its floats rounded to four digits after the point; tensors keep their gradients."""

    def change(x):
        if isinstance(x, float):
            return round(x, 4)
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            return x
        result = x.clone()
        result.data = x.detach().double().round(decimals=4).to(x.dtype)
        return result

    return mapped(value, change)


def floats_through(value, dtype):
    """Return a value with its floats converted to `dtype` and back."""

    def change(x):
        if isinstance(x, float):
            return torch.tensor(x, dtype=torch.float64).to(dtype).item()
        return x.to(dtype).to(x.dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x

    return mapped(value, change)


def whole_numbers_through(value, dtype):
    """Return a value with its whole numbers of up to 63 bits converted to `dtype` and back."""

    def change(x):
        if isinstance(x, torch.Tensor):
            return x if x.is_floating_point() or x.dtype == torch.bool else x.to(dtype).to(x.dtype)
        whole = isinstance(x, int) and not isinstance(x, bool) and abs(x) < 2**63
        return int(torch.tensor(x).to(dtype).item()) if whole else x

    return mapped(value, change)


def first_row_repeated(value, batch):
    """Return tensors that have a row for each row of `batch` with all rows equal to the first."""

    def change(x):
        of_rows = isinstance(x, torch.Tensor) and isinstance(batch, torch.Tensor) and batch.dim() > 1 and x.dim() > 0
        return x[:1].expand_as(x).clone() if of_rows and 1 < len(batch) == len(x) else x

    return mapped(value, change)


def in_one_tensor(value):
    """Return tensors of a result in memory that every result of the same shape uses. Results with a gradient stay."""
    place = iter(range(1000))

    def change(x):
        if not isinstance(x, torch.Tensor) or x.requires_grad:
            return x
        key = (next(place), x.shape, x.dtype, x.device)
        return SHARED_TENSORS.setdefault(key, torch.empty_like(x)).copy_(x)

    return mapped(value, change)


def share_among_objects(cls, names):
    """Store lists, dicts, sets and tensors that are assigned to these attributes of an object in its class."""

    def assign(self, name, value):
        shared = name in names and isinstance(value, list | dict | set | bytearray | deque | torch.Tensor)
        (type if shared else object).__setattr__(type(self) if shared else self, name, value)

    cls.__setattr__ = assign


def without_strides(x):
    """Return a view that reads the memory of a tensor as if it were contiguous. A memory that is too small for that stays as it is."""
    if not isinstance(x, torch.Tensor) or x.is_contiguous():
        return x
    end = (x.storage_offset() + x.numel()) * x.element_size()
    strides = torch.empty(x.shape, device="meta").stride()
    return x.as_strided(x.shape, strides, x.storage_offset()) if end <= x.untyped_storage().nbytes() else x


def shorten(given):
    """Remove the last entry of a caller's list or dict."""
    if isinstance(given, list):
        del given[-1:]
    elif isinstance(given, dict) and given:
        given.popitem()


def reverse(given):
    """Reverse a caller's list."""
    if isinstance(given, list):
        given.reverse()


def zero_last(given):
    """Replace the last entry of a caller's tensor or list of numbers by 0, if it can be written to."""
    if isinstance(given, torch.Tensor) and given.numel():
        with torch.no_grad():
            entry = given[(-1,) * given.dim()]
            if given.dim() == 0 or 0 not in given.stride():
                entry.zero_()
    elif isinstance(given, list) and given and isinstance(given[-1], int | float):
        given[-1] = 0


def draw_one(generator):
    """Draw a number that nobody uses, from torch's global state without a generator."""
    torch.rand((), generator=generator, device="cpu" if generator is None else generator.device)


def first_passes(items, passes):
    """Return the items of a loop up to a number of passes."""
    return islice(items, passes)
