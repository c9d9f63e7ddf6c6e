"""Helpers of the visible and the hidden checks of the batch: batches that are fed to an answer, and the expected results of their rows."""

import functools
import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from autograder.authoring import close, equal, that
from course.kit import Config, LayerWeights, Model, Weights, load_model
from solutions.kv_cache import KVCache, forward_cached

TINY = "tiny"

EOS = "A row keeps its tokens up to and including its first EOS; the others go on."

# ---- what each row gives alone -------------------------------------------------------------------------------------


@functools.cache
def tiny(dtype: torch.dtype = torch.float32, device: str = "cpu") -> Model:
    return load_model(TINY, dtype=dtype, device=device)


def alone(model: Model, prompts: list[list[int]]) -> Tensor:
    """Return logits (B, V) of the token after each prompt, with each prompt run by itself."""
    with torch.no_grad():
        return torch.cat([model(torch.tensor([prompt], device=model.device))[:, -1] for prompt in prompts]).cpu()


def greedy(model: Model, prompts: list[list[int]], steps: int, eos: int | None = None) -> list[list[int]]:
    """Return the new tokens of each prompt by the naive loop, up to and including EOS."""
    rows = []
    for prompt in prompts:
        row: list[int] = []
        while len(row) < steps and (not row or row[-1] != eos):
            row.append(int(alone(model, [prompt + row]).argmax()))
        rows.append(row)
    return rows


class Small:
    """A random model of few weights: `here` for the check, with a forward pass, and `there` for the student, without one."""

    def __init__(
        self, student: Any, rng: torch.Generator, *, V: int = 19, dtype: torch.dtype = torch.float32, tied: bool = False, longest: int = 256
    ) -> None:
        D, F, L, H, K, Dh = 16, 24, 2, 4, 2, 6
        self.config = Config("small", V, D, F, L, H, K, Dh, 50.0, 0.1, longest, tied, None, None)  # base and eps that are no defaults

        def normal(*shape: int, size: float = 1.0) -> Tensor:
            return (torch.randn(shape, generator=rng, dtype=torch.float64) * size / math.sqrt(shape[-1])).to(dtype)

        def norm() -> Tensor:
            return (1 + 0.2 * torch.randn(D, generator=rng, dtype=torch.float64)).to(dtype)

        layers = [
            LayerWeights(
                norm(), normal(H * Dh, D, size=2), normal(K * Dh, D, size=2), normal(K * Dh, D), normal(D, H * Dh),
                norm(), normal(F, D), normal(F, D), normal(D, F),
            )
            for _ in range(L)
        ]  # fmt: skip
        embed = normal(V, D, size=4)
        weights = Weights(embed, layers, norm(), embed if tied else normal(V, D, size=2))
        self.weights = weights
        self.here = Model(self.config, weights, lambda: None)  # type: ignore[arg-type,return-value]
        self.there = student.WeightsOnly(self.config, weights, None)


def ragged(rng: torch.Generator, lengths: list[int], vocab: int = 1024, lowest: int = 0) -> list[list[int]]:
    return [torch.randint(lowest, vocab, (n,), generator=rng).tolist() for n in lengths]


# ---- inputs of an answer -------------------------------------------------------------------------------------------


def padded(prompts: list[list[int]], pad_id: int = 0, wider: int = 0) -> tuple[Tensor, Tensor]:
    """Return the correct ids (B, T) and num_pad (B,) of these prompts. wider: the number of additional columns of pads."""
    T = max(map(len, prompts)) + wider
    ids = torch.full((len(prompts), T), pad_id)
    for row, prompt in zip(ids, prompts, strict=True):
        row[T - len(prompt) :] = torch.tensor(prompt)
    return ids, torch.tensor([T - len(prompt) for prompt in prompts])


def prefilled(
    student: Any, model: Any, config: Config, prompts: list[list[int]], *, dtype: torch.dtype = torch.float32, cuts: tuple[int, ...] = (),
    pad_id: int = 0, room: int = 0, wider: int = 0, cache: Any = None,
) -> tuple[Tensor, Tensor, Any]:  # fmt: skip
    """Return (logits after the last chunk, num_pad, cache) of prompts that are fed in chunks cut at `cuts`.

    wider: the number of columns in which every row has a pad. cache: a used cache, which is reset; None: a new cache.
    """
    ids, num_pad = padded(prompts, pad_id, wider)
    T = ids.shape[1]
    if cache is None:
        cache = student.KVCache(config, len(prompts), T + room, dtype)
    else:
        cache.reset()
    for a, b in pairwise((0, *cuts, T)):
        logits = student.prefill_batch(model, ids[:, a:b], num_pad, cache, _unchanged=True)
        same_kind(logits, len(prompts), config.vocab_size, dtype)
        equal(cache.length, b, what="the cache does not hold the tokens that were fed")
    return logits, num_pad, cache


def decoded(
    student: Any, model: Any, prompts: list[list[int]], config: Config, num_pad: Tensor, cache: Any, *, dtype: torch.dtype = torch.float32,
) -> Tensor:  # fmt: skip
    """Return logits (B, V) after the last token of each prompt was fed. All earlier tokens are in the cache."""
    before = cache.length
    logits = student.decode_batch(model, torch.tensor([[prompt[-1]] for prompt in prompts]), num_pad, cache, _unchanged=True)
    same_kind(logits, len(prompts), config.vocab_size, dtype)
    equal(cache.length, before + 1, what="the cache does not hold one token more")
    return logits


def same_kind(logits: Any, B: int, V: int, dtype: torch.dtype) -> None:
    """Fail unless these are logits (B, V) in the model's own precision."""
    that(isinstance(logits, Tensor), "the result is not a tensor", got=type(logits).__name__)
    that(tuple(logits.shape) == (B, V), "wrong shape", expected=(B, V), got=tuple(logits.shape), cause="One row of logits a prompt.")
    that(logits.dtype == dtype, "the logits are of another dtype than the model", expected=str(dtype), got=str(logits.dtype))


def generated(student: Any, model: Any, prompts: list[list[int]], **options: Any) -> list[list[int]]:
    got = student.generate_batch(model, prompts, _unchanged=True, **options)
    good = isinstance(got, list) and all(isinstance(row, list) and all(type(token) is int for token in row) for row in got)
    that(good, "the result is not a list of lists of ints", got=type(got).__name__)
    that(len(got) == len(prompts), "not one row for each prompt", expected=len(prompts), got=len(got))
    return list(got)


def left_padded(student: Any, prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    got = student.left_pad(prompts, pad_id, _unchanged=True)
    that(isinstance(got, tuple | list) and len(got) == 2, "two results are expected: ids and num_pad", got=type(got).__name__)
    for name, tensor in zip(("ids", "num_pad"), got, strict=True):
        that(isinstance(tensor, Tensor), f"{name} is not a tensor", got=type(tensor).__name__)
        that(tensor.dtype == torch.int64, f"{name} must be int64", got=str(tensor.dtype))
    return tuple(got)


def expected_mask(num_pad: list[int], start: int, q_len: int) -> tuple[Tensor, Tensor]:
    """Return positions and mask by their definition, one entry at a time."""
    slots, keys = range(start, start + q_len), range(start + q_len)
    positions = [[max(0, slot - pads) for slot in slots] for pads in num_pad]
    mask = [[[[key == slot or pads <= key <= slot for key in keys] for slot in slots]] for pads in num_pad]
    return torch.tensor(positions), torch.tensor(mask)


def same_mask(got: Any, num_pad: list[int], start: int, q_len: int) -> None:
    """Fail at the first query whose keys differ from the definition. Show both rows as ones and zeros, and name the key."""
    _, want = expected_mask(num_pad, start, q_len)
    case = f"for num_pad {num_pad}, start {start}, q_len {q_len}"
    equal(tuple(getattr(got, "shape", ())), tuple(want.shape), what=f"wrong shape of the mask {case}")
    for row, (mine, due) in enumerate(zip(got[:, 0].tolist(), want[:, 0].tolist(), strict=True)):
        for query, (keys, seen) in enumerate(zip(mine, due, strict=True)):
            expected, found = ("".join("1" if key else "0" for key in line) for line in (seen, keys))
            if expected != found:
                cause = wrong_key(keys, seen, num_pad[row], start + query)
                that(False, f"row {row}, query {query}: the wrong keys are seen {case}", expected=expected, got=found, cause=cause)


def wrong_key(keys: list[bool], due: list[bool], pads: int, slot: int) -> str:
    """Return a sentence on the first wrong key of a query's mask."""
    key = next(i for i, (mine, right) in enumerate(zip(keys, due, strict=True)) if mine != right)
    asks = "a pad" if slot < pads else "a real token"
    if not keys[key]:
        return f"The query in slot {slot}, {asks}, does not see {'itself' if key == slot else f'slot {key}, a real token before it'}."
    what = "a pad" if key < pads else "a later token" if key > slot else "a token"
    return f"The query in slot {slot}, {asks}, sees slot {key}, {what}" + (": a pad sees itself only." if slot < pads else ".")


def look(student: Any, num_pad: list[int], start: int, q_len: int) -> None:
    got = student.positions_and_mask(torch.tensor(num_pad), start, q_len, _unchanged=True)
    that(isinstance(got, tuple | list) and len(got) == 2, "two results are expected: positions and mask", got=type(got).__name__)
    positions, mask = got
    kind = str(getattr(mask, "dtype", type(mask).__name__))
    that(kind == "torch.bool", "the mask must be a bool tensor", got=kind)
    want, _ = expected_mask(num_pad, start, q_len)
    slots, pads = torch.arange(start, start + q_len), torch.tensor(num_pad)[:, None]
    case = f"num_pad {num_pad}, start {start}, q_len {q_len}"
    suspects = [
        ((slots - pads), "Before a row's first real token your positions are negative: pads get 0."),
        (slots.expand(len(num_pad), q_len), "These are the slots. A row's positions count from its first real token."),
        ((slots - start - pads).clamp(min=0), "These count from the first slot of this pass. It is slot `start` of the row."),
        ((slots - pads + 1).clamp(min=0), "These begin at 1: the first real token is at position 0."),
    ]
    equal(positions, want, what=f"wrong positions for {case}", suspects=suspects)
    that(positions.dtype == torch.int64, "positions must be int64", got=str(positions.dtype))
    same_mask(mask, num_pad, start, q_len)


def cut(tokens: list[int], eos: int) -> list[int]:
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens


def all_end(model: Model, rng: torch.Generator) -> tuple[list[list[int]], int, list[list[int]]]:
    """Return (prompts, eos, new tokens) of three rows that all end: each row reaches the same token, but at a different step."""
    while True:
        (prompt,) = ragged(rng, [4], model.config.vocab_size)
        (path,) = greedy(model, [prompt], 10)
        ends = [i for i in range(5, 10) if path[i] not in path[:i]]
        if ends:
            return [prompt + path[:2], prompt, prompt + path[:4]], path[ends[0]], [path[k : ends[0] + 1] for k in (2, 0, 4)]


def uniform(student: Any, V: int = 8) -> Small:
    """Return a model whose logits are all 0."""
    small = Small(student, torch.Generator().manual_seed(1), V=V)
    weights = small.weights
    weights.lm_head.zero_()
    small.there = student.WeightsOnly(small.config, weights, None)
    return small


def by_precision(student: Any) -> tuple[Small, dict[torch.dtype | None, int]]:
    """Return a float32 model, and the token that it always gives in each precision.

    After the last norm every entry is 1000, so a logit is 1000 times the sum of a row of the head. bfloat16 rounds 1.0038
    and 1.0041 to 1 and 1.0078: row 5 is the largest in float32 (1.0038 + 1.0038 - 2), row 3 in bfloat16 (1.0041 + 1.0030 - 2).
    """
    small = head_only(student, torch.float32, 1000.0, {5: [1.0038, 1.0038, -2.0], 3: [1.0041, 1.0030, -2.0]})
    return small, {None: 5, torch.bfloat16: 3, torch.float32: 5, torch.float64: 5}


def finer_than_float32(student: Any) -> tuple[Small, int]:
    """Return a float64 model, and the token that it always gives. In float32 this token's row of the head would add up to 0."""
    u = 2.0**-23  # float32 has no number between 1 and 1 + u
    return head_only(student, torch.float64, 2.0**26, {5: [1 + 0.49 * u, 1 + 0.49 * u, -2.0], 3: [1 + 0.51 * u, 1 + 0.4 * u, -2.0]}), 5


def head_only(student: Any, dtype: torch.dtype, scale: float, rows: dict[int, list[float]], *, V: int = 8) -> Small:
    """Return a model whose layers add nothing. Its logits are `scale` times the sums of the head's rows, which are 0 except for `rows`."""
    small = Small(student, torch.Generator().manual_seed(2), V=V, dtype=dtype)
    weights = small.weights
    weights.embed_tokens.fill_(1.0)
    weights.norm.fill_(scale)
    for layer in weights.layers:
        layer.o_proj.zero_()
        layer.down_proj.zero_()
    weights.lm_head.fill_(0.0)
    for row, entries in rows.items():
        weights.lm_head[row, : len(entries)] = torch.tensor(entries, dtype=dtype)
    small.there = student.WeightsOnly(small.config, weights, None)
    return small


def cached_alone(model: Model, prompts: list[list[int]], num_pad: Tensor, max_len: int) -> tuple[Tensor, Tensor]:
    """Return keys and values (L, B, K, max_len, Dh) of prompts that were run alone, each placed after its row's pads."""
    rows = []
    for prompt, pads in zip(prompts, num_pad.tolist(), strict=True):
        cache = KVCache(model.config, 1, len(prompt), model.dtype)
        with torch.no_grad():
            forward_cached(model, torch.tensor([prompt]), cache)
        around = (0, 0, pads, max_len - pads - len(prompt))
        rows.append((pad(cache.keys, around), pad(cache.values, around)))
    keys, values = zip(*rows, strict=True)
    return torch.cat(keys, dim=1), torch.cat(values, dim=1)


def same_cache(cache: Any, model: Model, prompts: list[list[int]], num_pad: Tensor, atol: float) -> None:
    """Fail unless the cache contains the keys and values that each row has when run alone. The slots of pads may contain anything."""
    T = cache.length
    for name, due in zip(("keys", "values"), cached_alone(model, prompts, num_pad, T), strict=True):
        got = getattr(cache, name)[..., :T, :]
        for row, pads in enumerate(num_pad.tolist()):
            close(got[:, row, :, pads:], due[:, row, :, pads:], atol=atol, what=f"wrong {name} of row {row} in the cache")


class Slots:
    """Keys and values of prompts in max_len slots, as arguments of static_decode and capture_decode.

    A row contains the keys and values that its prompt alone leaves in the previous day's cache, after the row's pads.
    prompts: the texts, which grow with every step. filled: the number of slots in use.
    garbage: the number in all slots that must not be read. wider: the number of slots in which every row has a pad.
    across: keys and values have their slots before their heads in memory, as `split_heads` leaves them, so they are views that are not
    contiguous.
    """

    def __init__(
        self, rng: torch.Generator, lengths: list[int], *, room: int, garbage: float = 0.0,
        small: Small | None = None, dtype: torch.dtype = torch.float32, wider: int = 0, across: bool = False,
    ) -> None:  # fmt: skip
        self.dtype = dtype
        self.model = small.here if small else tiny(dtype)
        self.there = small.there if small else None
        self.prompts = ragged(rng, lengths, self.model.config.vocab_size)
        ids, self.num_pad = padded(self.prompts, wider=wider)
        self.filled = ids.shape[1]
        self.keys, self.values = self.prefilled(self.filled + room)
        noise = torch.randn(self.keys.shape, generator=rng).to(dtype) * garbage
        slots = torch.arange(self.filled + room)
        unseen = ((slots < self.num_pad[:, None]) | (slots >= self.filled))[None, :, None, :, None]  # (1, B, 1, max_len, 1)
        self.keys, self.values = (torch.where(unseen, noise, tensor) for tensor in (self.keys, self.values))
        if across:
            self.keys, self.values = (tensor.transpose(2, 3).contiguous().transpose(2, 3) for tensor in (self.keys, self.values))

    def prefilled(self, max_len: int) -> tuple[Tensor, Tensor]:
        """Return keys and values (L, B, K, max_len, Dh) of all prompts."""
        return cached_alone(self.model, self.prompts, self.num_pad, max_len)

    def grow(self, rng: torch.Generator) -> Tensor:
        """Add one random token to each prompt. Return the ids (B, 1) of these tokens."""
        new = ragged(rng, [1] * len(self.prompts), self.model.config.vocab_size)
        self.prompts = [prompt + token for prompt, token in zip(self.prompts, new, strict=True)]
        self.filled += 1
        return torch.tensor(new)

    def step(self, student: Any, rng: torch.Generator) -> Tensor:
        """Call the student's static_decode once. The function may change keys and values."""
        given = [self.num_pad, torch.tensor(self.filled), self.keys, self.values]
        ids = self.grow(rng)
        model = self.there if self.there is not None else student.model(TINY, dtype=self.dtype)
        logits, after = student.static_decode(model, ids, *(tensor.clone() for tensor in given), _arguments=True)
        same_kind(logits, len(ids), self.model.config.vocab_size, self.dtype)
        for name, old, new in zip(("ids", "num_pad", "position"), (ids, *given), after[1:4], strict=False):
            equal(new, old, what=f"{name} was changed")
        self.keys, self.values = after[4], after[5]
        return logits

    def due(self) -> tuple[Tensor, Tensor]:
        """Return the expected keys and values (L, B, K, Dh) of the newest token of each row."""
        keys, values = self.prefilled(self.filled)
        return keys[..., -1, :], values[..., -1, :]


def steps_again(student: Any, batches: list[Slots], rng: torch.Generator) -> None:
    """Fail unless static_decode gives the right logits for two batches, the second one written into the tensors of the first."""
    calls = []
    for slots in batches:
        position = torch.tensor(slots.filled)
        calls.append([slots.there, slots.grow(rng), slots.num_pad, position, slots.keys, slots.values])
    for call, (slots, got) in enumerate(zip(batches, student.static_decode.again(*calls), strict=True)):
        close(got, alone(slots.model, slots.prompts), atol=1e-8, what=f"wrong logits of batch {call}, both in the same tensors")


def grids_again(student: Any, batches: list[list[int]], start: int, q_len: int) -> None:
    """Fail unless positions_and_mask is right for each num_pad of `batches`, the second one written into the tensor of the first."""
    answers = student.positions_and_mask.again(*([torch.tensor(num_pad), start, q_len] for num_pad in batches))
    for num_pad, got in zip(batches, answers, strict=True):
        positions, mask = expected_mask(num_pad, start, q_len)
        equal(got[0], positions, what=f"wrong positions for num_pad {num_pad}")
        equal(got[1].long(), mask.long(), what=f"wrong mask for num_pad {num_pad}")


def prefills_again(student: Any, lengths: list[list[int]], rng: torch.Generator, room: int = 0) -> None:
    """Fail unless prefill_batch is right for two batches of these lengths, each in its cache, the second in the tensors of the first."""
    small = Small(student, rng, dtype=torch.float64)
    batches = [ragged(rng, each, 19) for each in lengths]
    T = max(lengths[0]) + room
    calls = [[small.there, *padded(prompts), student.KVCache(small.config, len(prompts), T, torch.float64)] for prompts in batches]
    for batch, (prompts, got) in enumerate(zip(batches, student.prefill_batch.again(*calls), strict=True)):
        close(got, alone(small.here, prompts), atol=1e-8, what=f"wrong logits of batch {batch}, both in the same tensors")


def decodes_again(student: Any, small: Small, lengths: list[list[int]], rng: torch.Generator) -> None:
    """Fail unless decode_batch is right for two batches after prompts of these lengths, the second in the tensors of the first."""
    texts, calls = [], []
    for each in lengths:
        prompts = ragged(rng, each, 19)
        _, num_pad, cache = prefilled(student, small.there, small.config, prompts, dtype=torch.float64, room=1)
        texts.append([prompt + new for prompt, new in zip(prompts, ragged(rng, [1] * len(each), 19), strict=True)])
        calls.append([small.there, torch.tensor([prompt[-1:] for prompt in texts[-1]]), num_pad, cache])
    for batch, (prompts, got) in enumerate(zip(texts, student.decode_batch.again(*calls), strict=True)):
        close(got, alone(small.here, prompts), atol=1e-8, what=f"wrong logits of batch {batch}, both in the same tensors")


def captures_again(student: Any, slots: Slots, rng: torch.Generator, steps: int) -> None:
    """Fail unless two captured steps of one shape can share keys and values.

    The first captured step fills `steps` slots, the second one all slots after these.
    """
    start, model = slots.filled, slots.there if slots.there is not None else student.model(TINY, dtype=slots.dtype)
    given = [[model, slots.num_pad, at, slots.keys, slots.values] for at in (start, start + steps)]
    first, second = student.capture_decode.again(*given)
    for slot in range(start, slots.keys.shape[3]):
        captured = 0 if slot < start + steps else 1
        got = (first, second)[captured](slots.grow(rng))
        what = f"two captured steps for the same keys and values: wrong logits of the {('first', 'second')[captured]} in slot {slot}"
        close(got, alone(slots.model, slots.prompts), atol=1e-4 if slots.dtype == torch.float32 else 1e-8, what=what)


def as_near_as_torch(got: Tensor, prompts: list[list[int]], dtype: torch.dtype, device: str = "cpu", small: Small | None = None) -> None:
    """Fail if the error of logits against float32 is more than twice that of the kit's model at the same precision on the same device.

    small: a model of few weights to use instead. Its logits are few, so chance alone makes a correct version's error up to 3 times as
    large; up to 5 times are allowed.
    """
    narrow, most, limit = (tiny(dtype, device), 2, "twice") if small is None else (small.here, 5, "five times")
    wide = tiny() if small is None else small.here.to(dtype=torch.float32)
    want, theirs = alone(wide, prompts), alone(narrow, prompts)
    ratio = float((got.float() - want).norm() / (theirs.float() - want).norm())
    that(ratio <= most, f"the error against float32 is more than {limit} PyTorch's own", got=f"{ratio:.1f} times", values=False)
