"""Products of activations with weights, by the fastest way on this machine whose numbers are those of F.linear.

A library multiplies by another routine if the weight is stored in another form. The fastest routine depends on the processor, on the
matrix's shape and on how many rows are multiplied. So nothing is assumed: when a model is packed, each way is timed on the model's own
matrices, with 1 row, a few, a batch and a part of a prompt, and the fastest is chosen. A way is rejected if its numbers differ from
F.linear's by more than another order of summation would explain. Timings differ between processes: name a way to get the same rounding
everywhere.

| way | form of the weight | for |
|---|---|---|
| `linear` | unchanged | every dtype; the reference for the others |
| `weight first` | unchanged, the left factor of the product | every dtype |
| `packed` | in the order in which oneDNN's kernels read it | float32, bfloat16, float16, as far as the processor has the instructions |
| `as float32` | unchanged, and converted to float32 for each product | bfloat16 and float16 |
| `fp16` | float16 in FBGEMM's order; sums are float32 | bfloat16, float16; float32 if each weight is a float16 number |
| `transposed` | (in, out) | float32, float64 |

If a file's blocks are given, there is one more way: `onnxruntime` of `onnx_blocks.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

BOUNDS = (1, 8, 32)
"""Upper ends of the ranges of rows: a choice holds for 1 row, for 2 to 8, for 9 to 32, and for all above."""
SAMPLES = (1, 4, 16, 96)
"""Numbers of rows used to time each of these ranges."""
SECONDS = 3.0
"""Time for all timing of one model on a quiet machine.

On a busy one each comparison that has begun gets its five turns; after twice this time none begins. The time that the ways need to prepare
weights is extra, about a second for SmolLM2.
"""
TURNS, FEWEST = 12, 5
GAIN = 0.9
"""Share of the current way's time that another way must stay below to replace it.

It is below 1 because another form of the weight costs memory, and a timing has noise.
"""
HOPELESS = 3
"""Factor of the current way's time above which another way gets no further turn."""
POOL_BYTES = 48e6
"""Bytes of the weights that are timed in turn, more than most caches hold: in a decode step each comes from memory."""
TOLERANCE = {torch.float64: 1e-14, torch.float32: 5e-6, torch.bfloat16: 1e-3, torch.float16: 1e-4}
"""Largest distance to F.linear's result, relative to that result's length.

In float32 two of torch's own routines differ by 5e-7 for sums of 576 terms and by 2e-6 for sums of 14,336; weights rounded to float16 would
be 2e-4 away, to bfloat16 3e-3. In 16 bits each result is rounded once, and only a result at a boundary is rounded to the other side: up to
2e-4 of bfloat16, 4e-5 of float16.
"""
HALVES = (torch.bfloat16, torch.float16)
Blocks = Tensor | None
"""A weight's blocks as a GGUF file has them, uint8 (out, in / 32, bytes of a block), or None."""
Pool = list[tuple[Tensor, Blocks]]


@dataclass(frozen=True)
class Way:
    """A way to multiply.

    prepare: weight (out, in) -> its prepared form. multiply: rows (R, in), the prepared form -> (R, out). Either function may raise if the
    machine does not support this way. form: the name of the prepared form; ways with the same name share the form. fits: returns True if
    this weight may be stored in that form. from_blocks: whether `prepare` gets the file's blocks of the weight (`Blocks`) instead of the
    weight.
    """

    name: str
    form: str
    prepare: Callable[[Tensor], Any]
    multiply: Callable[[Tensor, Any], Tensor]
    dtypes: tuple[torch.dtype, ...] = tuple(TOLERANCE)
    fits: Callable[[Tensor], bool] = lambda weight: True
    from_blocks: bool = False

    def form_of(self, weight: Tensor, blocks: Blocks) -> Any:
        """Return the prepared form of a weight. Raises LookupError if `from_blocks` is set and the weight has no blocks."""
        if self.from_blocks and blocks is None:
            raise LookupError(f"{self.name} multiplies with a file's blocks, but this weight has none")
        return self.prepare(blocks if self.from_blocks and blocks is not None else weight)


def _as_it_is(weight: Tensor) -> Tensor:
    return weight


def _float16_holds(weight: Tensor) -> bool:
    """Return True if the weight may be stored in float16.

    A float32 weight must not lose anything. A 16-bit weight may lose precision; comparing the products shows whether the loss matters.
    """
    return weight.dtype != torch.float32 or torch.equal(weight.half().float(), weight)


LINEAR = Way("linear", "", _as_it_is, linear)
WAYS = (
    LINEAR,
    Way("weight first", "", _as_it_is, lambda x, weight: (weight @ x.T).T.contiguous()),
    Way(
        "packed",
        "packed",
        lambda weight: torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), 16),
        lambda x, packed: torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], ""),
        (torch.float32, *HALVES),
    ),
    Way("as float32", "", _as_it_is, lambda x, weight: linear(x.float(), weight.float()).to(x.dtype), HALVES),
    Way(
        "fp16",
        "fp16",
        lambda weight: torch.ops.quantized.linear_prepack_fp16(weight.float().contiguous(), None),
        lambda x, packed: torch.ops.quantized.linear_dynamic_fp16(x.float(), packed).to(x.dtype),
        (torch.float32, *HALVES),
        _float16_holds,
    ),
    Way("transposed", "transposed", lambda weight: weight.T.contiguous(), lambda x, weight: x @ weight, (torch.float32, torch.float64)),
)


class Product:
    """A function linear(x, weight): x (..., in) -> (..., out), with one way for each range of rows."""

    def __init__(self, weight: Tensor, ways: Sequence[Way], blocks: Blocks = None) -> None:
        """Prepare the weight for the four ways: for 1 row, for 2 to 8, for 9 to 32, for more.

        F.linear replaces a way that raises or whose results differ too much for this weight.
        """
        forms: dict[str, Any] = {}
        chosen: list[tuple[Way, Any]] = []
        for way in ways:
            try:
                fits = way is LINEAR or way.fits(weight)
                if fits and way.form not in forms:
                    forms[way.form] = way.form_of(weight, blocks)
                fits = fits and (way is LINEAR or is_near(way, forms[way.form], weight, 3))
            except Exception:
                fits = False
            chosen.append((way, forms[way.form]) if fits else (LINEAR, weight))
        self.names = tuple(way.name for way, _ in chosen)
        self._at = [(way.multiply, prepared) for way, prepared in chosen]

    def __call__(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, x.shape[-1])
        place = 0
        for bound in BOUNDS:
            place += len(rows) > bound
        multiply, prepared = self._at[place]
        return multiply(rows, prepared).view(*x.shape[:-1], -1)


def is_near(way: Way, prepared: Any, weight: Tensor, rows: int) -> bool:
    """Return True if the results equal F.linear's up to the order of summation.

    For 16-bit weights F.linear is computed in float32 and its result rounded.
    """
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(rows, weight.shape[1], generator=generator).to(weight.dtype)
    expected = linear(x.float(), weight.float()).to(x.dtype) if x.dtype in HALVES else linear(x, weight)
    got = way.multiply(x, prepared)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    distance, length = ((each.double()).norm().item() for each in (got.double() - expected.double(), expected))
    return distance <= TOLERANCE[weight.dtype] * length  # false for nan


class Products:
    """A model's products.

    choices: {(out, in): the ways' names for 1 row, 2 to 8, 9 to 32, more}. seconds: the time spent on timing. way: None chooses by timing.
    A name uses that way wherever it works, for the same rounding in every process. Weights on a GPU, and weights of dtypes that are not in
    TOLERANCE, are multiplied by F.linear. `remembered` stores the choices for the process, so all its engines use the same ways.
    """

    def __init__(
        self,
        way: str | None = None,
        *,
        ways: Sequence[Way] = WAYS,
        clock: Callable[[], float] = time.perf_counter,
        remembered: dict[Any, tuple[str, ...]] | None = None,
    ) -> None:
        """Check the way's name. Raises ValueError for an unknown one."""
        self.ways = {each.name: each for each in ways}
        if way is not None and way not in self.ways:
            raise ValueError(f"products must be one of {', '.join(self.ways)}, or None for the fastest, got {way!r}")
        self.way, self.clock = way, clock
        self.choices: dict[tuple[int, int], tuple[str, ...]] = {}
        self.seconds = 0.0
        self._remembered = REMEMBERED if remembered is None else remembered

    def make(
        self, weights: Iterable[Tensor], share: float = 1.0, samples: Sequence[int] = SAMPLES, blocks: Iterable[Blocks] = repeat(None)
    ) -> list[Product]:
        """Return a product for each of several weights of one shape.

        share: the part of SECONDS to use. samples: the numbers of rows to time, without those that never occur. blocks: each weight's
        blocks, if the file has blocks.
        """
        pairs = iter(zip(weights, blocks))  # noqa: B905  # the blocks of none are endless
        pool = [next(pairs)]
        while sum(weight.nbytes for weight, _ in pool) < POOL_BYTES and (pair := next(pairs, None)) is not None:
            pool.append(pair)
        ways = self._ways(pool, share, samples)
        made = [Product(weight, ways, stored) for weight, stored in chain(pool, pairs)]
        rows, columns = pool[0][0].shape
        self.choices[rows, columns] = made[0].names
        return made

    @property
    def line(self) -> str:
        """Return a line that says which ways were chosen and how they were chosen."""
        if self.way is not None:
            how = " as asked for"
        elif self.seconds:
            how = f", timed in {self.seconds:.1f} s"
        else:
            how = " as timed before" if self.choices else ""
        return f"Products{how}: " + "; ".join(f"{out}x{width} {described(names)}" for (out, width), names in self.choices.items())

    @property
    def plain(self) -> bool:
        """Return True if every weight is stored unchanged, as a compiler needs it."""
        return all(self.ways[name].form == "" for names in self.choices.values() for name in names)

    def _ways(self, pool: Pool, share: float, samples: Sequence[int]) -> list[Way]:
        count = len(SAMPLES)
        if self.way is not None:
            return [self.ways[self.way]] * count
        weight = pool[0][0]
        if weight.is_cuda or weight.dtype not in TOLERANCE:
            return [LINEAR] * count
        candidates = [
            way
            for way in self.ways.values()
            if weight.dtype in way.dtypes
            and all(way.fits(each) and not (way.from_blocks and stored is None) for each, stored in pool)
        ]
        key = (weight.shape, weight.dtype, torch.get_num_threads(), tuple(samples), tuple(way.name for way in candidates))
        if key not in self._remembered:
            start = self.clock()
            self._remembered[key] = self._timed(pool, candidates, share, samples)
            self.seconds += self.clock() - start
        names = self._remembered[key]
        return [self.ways[name] for name in names] + [self.ways[names[-1]]] * (count - len(names))

    def _timed(self, pool: Pool, candidates: list[Way], share: float, samples: Sequence[int]) -> tuple[str, ...]:
        """Return the name of the fastest way for each of the samples.

        The winner for one sample is the current way for the next sample. Another way must be faster to replace it, because another form of
        the weight costs memory.
        """
        forms: dict[str, list[Any]] = {"": [weight for weight, _ in pool]}
        right = [way for way in candidates if way is LINEAR or self._is_right(way, forms, pool, samples)]
        each = SECONDS * share / (len(samples) * len(candidates))
        end = self.clock() + 2 * SECONDS * share
        best, chosen = LINEAR, []
        for rows in samples:
            weight = pool[0][0]
            x = torch.randn(rows, weight.shape[1], generator=torch.Generator().manual_seed(rows)).to(weight.dtype)
            for way in right:
                if way is not best and self.clock() < end and self._is_faster(way, best, forms, x, each):
                    best = way
            chosen.append(best.name)
        return tuple(chosen)

    def _is_right(self, way: Way, forms: dict[str, list[Any]], pool: Pool, samples: Sequence[int]) -> bool:
        """Return True if this machine supports the way and its results are F.linear's for each number of rows.

        A way that is wrong for one number of rows is not used at all.
        """
        try:
            if way.form not in forms:
                forms[way.form] = [way.form_of(weight, stored) for weight, stored in pool]
            return all(is_near(way, forms[way.form][0], pool[0][0], rows) for rows in samples)
        except Exception:  # whatever it is that this processor, or this build of torch, does not have
            return False

    def _is_faster(self, way: Way, best: Way, forms: dict[str, list[Any]], x: Tensor, seconds: float) -> bool:
        """Time both ways in turn, each time with another weight, and return True if `way` is faster.

        The lower quartiles of the timings are compared, because disturbances only make a timing longer.
        """
        theirs, mine = forms[best.form], forms[way.form]
        count = len(mine)
        best.multiply(x, theirs[0])
        way.multiply(x, mine[0])  # what a first call prepares is not timed
        took: tuple[list[float], list[float]] = ([], [])
        end = self.clock() + seconds
        for turn in range(TURNS):
            for times, each, prepared in ((took[0], best, theirs[turn % count]), (took[1], way, mine[(turn + count // 2) % count])):
                start = self.clock()
                each.multiply(x, prepared)
                times.append(self.clock() - start)
            if turn + 1 >= FEWEST and (min(took[1]) > HOPELESS * max(took[0]) or self.clock() > end):
                break
        theirs_took, mine_took = (sorted(times)[(len(times) - 1) // 4] for times in took)
        return mine_took < GAIN * theirs_took


REMEMBERED: dict[Any, tuple[str, ...]] = {}
"""Choices made in this process: two engines over the same weights round in the same way."""


def described(names: Sequence[str]) -> str:
    """Return the ways of one shape in words: `packed`, or `linear at 1 row, packed at 2 to 8 rows, fp16 above`."""
    if len(set(names)) == 1:
        return names[0]
    parts, start = [], 1
    for place, name in enumerate(names):
        if place + 1 < len(names) and names[place + 1] == name:
            continue
        if place == len(names) - 1:
            parts.append(f"{name} above")
        else:
            bound = BOUNDS[place]
            parts.append(f"{name} at {'1 row' if bound == 1 else f'{start} to {bound} rows'}")
            start = bound + 1
    return ", ".join(parts)
