"""Inputs on which right answers agree however they round, and a decoder of a GGUF file's blocks that does not use torch."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.authoring import CheckFailed, close, equal, that
from autograder.sandbox.measure.trace_fingerprints import Fingerprint, fingerprint_of


def integer(rng: torch.Generator, low: int, high: int) -> int:
    """Draw an integer from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=rng))


def parts(got: Any, *names: str) -> Any:
    """Check that a result is a tuple or list with these parts, and return it."""
    found = isinstance(got, tuple | list) and len(got) == len(names)
    that(found, f"{len(names)} tensors are expected: {', '.join(names)}", got=None if found else f"{type(got).__name__}")
    return got


def numbers(got: Any, want: Any, dtype: torch.dtype, what: str = "wrong q", **options: Any) -> None:
    """Fail unless `got` has exactly the whole numbers `want`, in this dtype."""
    is_tensor = isinstance(got, Tensor)
    found = str(got.dtype) if is_tensor else type(got).__name__
    that(is_tensor and got.dtype == dtype, f"{what}: another dtype", expected=str(dtype), got=found)
    same(got, torch.as_tensor(want), what, **options)


def same(got: Tensor, want: Tensor, what: str, **options: Any) -> None:
    """Call `equal`. If there are more numbers than a table shows (a block has 32), name only the first difference."""
    try:
        equal(got, want, what=what, **options)
    except CheckFailed as failed:
        if got.shape != want.shape or got.numel() <= 24:
            raise
        off = got.double() != want.double()
        place = off.nonzero()[0].tolist()
        raise CheckFailed(
            f"{what} at index {place} ({int(off.sum())} of {off.numel()} differ)",
            expected=want[tuple(place)].item(),
            got=got[tuple(place)].item(),
            cause=failed.cause,
            fact=failed.fact,
            values=got,
        ) from None


def float32s(got: Any, want: Any, what: str, *, rtol: float = 1e-5, atol: float = 1e-7) -> None:
    close(got, want, rtol=rtol, atol=atol, dtype=torch.float32, what=what)


def symmetric_case(rng: torch.Generator, *shape: int, bits: int = 8) -> tuple[Tensor, Tensor, Tensor]:
    """Return (x float32, its q, its scale (..., 1)). No number is within a tenth of a step of a tie. Each row has one largest number."""
    top = 2 ** (bits - 1) - 1
    steps = torch.randint(1 - top, top, shape, generator=rng) + 0.8 * torch.rand(shape, generator=rng, dtype=torch.float64) - 0.4
    steps = steps.clamp(0.6 - top, top - 0.6)
    row = (*shape[:-1], 1)
    sign = 2 * torch.randint(2, row, generator=rng) - 1
    steps.scatter_(-1, torch.randint(shape[-1], row, generator=rng), (sign * top).double())
    scale = 0.02 + torch.rand(row, generator=rng, dtype=torch.float64)
    return (steps * scale).float(), steps.round(), scale


def affine_case(rng: torch.Generator, *shape: int, bits: int = 8) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return (x float32, its q, its scale, its minimum). No number is within a tenth of a step of a tie. Each row contains both ends."""
    top = 2**bits - 1
    steps = torch.randint(top + 1, shape, generator=rng) + 0.8 * torch.rand(shape, generator=rng, dtype=torch.float64) - 0.4
    ends = torch.rand(shape, generator=rng).argsort(dim=-1)[..., :2]
    steps = steps.clamp(0, top).scatter(-1, ends, torch.tensor([0.0, top], dtype=torch.float64).expand(ends.shape))
    row = (*shape[:-1], 1)
    scale = 0.02 + torch.rand(row, generator=rng, dtype=torch.float64)
    minimum = 6 * torch.rand(row, generator=rng, dtype=torch.float64) - 4
    return (steps * scale + minimum).float(), steps.round(), scale, minimum


def random_bytes(rng: torch.Generator, *shape: int) -> Tensor:
    return torch.randint(256, shape, generator=rng).to(torch.uint8)


def random_blocks(rng: torch.Generator, *leading: int, halves: int, numbers: int) -> Tensor:
    """Return uint8 (*leading, 2 * halves + numbers): float16 numbers of both signs and many magnitudes, then bytes of all values."""
    magnitude = 10.0 ** (4 * torch.rand(*leading, halves, generator=rng) - 3)
    values = (magnitude * (2 * torch.randint(2, magnitude.shape, generator=rng) - 1)).half()
    return torch.cat((values.view(torch.uint8), random_bytes(rng, *leading, numbers)), dim=-1)


def q4_1_by_hand(raw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return (q, scale, minimum), block by block."""
    q, scales, minima = [], [], []
    for block in raw.reshape(-1, 20).tolist():
        scale, minimum, *packed = struct.unpack("<ee16B", bytes(block))
        q.append([byte % 16 for byte in packed] + [byte // 16 for byte in packed])
        scales.append(scale)
        minima.append(minimum)
    leading = raw.shape[:-1]
    return torch.tensor(q).view(*leading, 32), torch.tensor(scales).view(*leading, 1), torch.tensor(minima).view(*leading, 1)


def q8_0_by_hand(raw: Tensor) -> tuple[Tensor, Tensor]:
    """Return (q, scale), block by block."""
    blocks = [struct.unpack("<e32b", bytes(block)) for block in raw.reshape(-1, 34).tolist()]
    leading = raw.shape[:-1]
    return torch.tensor([block[1:] for block in blocks]).view(*leading, 32), torch.tensor([block[0] for block in blocks]).view(*leading, 1)


def matrix(rng: torch.Generator, out: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return (q, scale, minimum) of a matrix in 4 bits, float32. Each row and group has its own scale and minimum."""
    q = torch.randint(16, (out, width // 32, 32), generator=rng).to(torch.uint8)
    scale = 0.05 + torch.rand(out, width // 32, 1, generator=rng)
    return q, scale, -8 * scale * (0.5 + torch.rand(scale.shape, generator=rng))


def weights_of(q: Tensor, scale: Tensor, minimum: Tensor) -> Tensor:
    """Return the matrix (out, D) in float64."""
    return (q.double() * scale.double() + minimum.double()).flatten(1)


def rounded(x: Tensor, bits: int = 8) -> tuple[Tensor, Tensor]:
    """Return (xq, scale) of `quantize_absmax` for groups of 32, float64: (..., D/32, 32), (..., D/32, 1)."""
    groups = x.double().unflatten(-1, (-1, 32))
    scale = groups.abs().amax(dim=-1, keepdim=True) / (2 ** (bits - 1) - 1)
    return torch.where(scale > 0, groups / scale, 0.0).round(), scale


def linear_case(case: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x, q, scale, minimum of the case worked out by hand: one group, whose numbers are 0 except the first two."""
    x, q = torch.zeros(32), torch.zeros(2, 1, 32, dtype=torch.uint8)
    x[:2] = torch.tensor(case["x"])
    q[:, 0, :2] = torch.tensor(case["q"], dtype=torch.uint8)
    scale, minimum = (torch.tensor(case[name]).view(2, 1, 1) for name in ("scale", "minimum"))
    return x, q, scale, minimum


def was_floating(fingerprints: Sequence[Fingerprint], x: Tensor, q: Tensor, scale: Tensor, minimum: Tensor) -> bool:
    """Return whether a floating tensor held the weights' numbers, alone or scaled, or their products with those of x (D,).

    The tensor may hold all of them, or those of a group, a row or a block.
    """
    xq, _ = rounded(x)
    whole = q.double()
    forms = [whole, whole * scale, weights_of(q, scale, minimum).view(q.shape), whole * xq]
    seen = {p[0] for p in fingerprints}
    pieces = [piece for form in forms for piece in (form, *form.unbind(0), *form.unbind(1), *form.flatten(0, 1).unbind(0))]
    return any(_near(fingerprint_of(piece), p) for piece in pieces if piece.numel() in seen for p in fingerprints)


def _near(wanted: Fingerprint, got: Fingerprint) -> bool:
    entries, total, squares, size = wanted
    return got[0] == entries and all(
        abs(mine - due) <= 1e-5 * of for mine, due, of in zip(got[1:], (total, squares, size), (size, squares, size), strict=True)
    )


def shape_of(rng: torch.Generator, *, most: int = 4) -> list[int]:
    """Draw the sizes of up to two leading dimensions."""
    return [integer(rng, 1, most) for _ in range(integer(rng, 0, 2))]
