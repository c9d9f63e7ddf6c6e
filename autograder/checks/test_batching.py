"""Checks of the batch that students may read.

What is due is always what a row gives alone: the kit's own model, which knows no padding and no cache, is run on each
prompt by itself. `tiny` is the trained model; `Small` are random ones of a page, for what tiny cannot show.
"""

import functools
import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from autograder.authoring import checks, close, equal, raises, that
from course.kit import Config, LayerWeights, Model, Weights, load_model

TINY = "tiny"
FALSE_ALARM = 1e-10

# ---- what each row gives alone -------------------------------------------------------------------------------------


@functools.cache
def tiny(dtype: torch.dtype = torch.float32) -> Model:
    return load_model(TINY, dtype=dtype)


def alone(model: Model, prompts: list[list[int]]) -> Tensor:
    """Logits (B, V) of the token after each prompt, each run by itself."""
    with torch.no_grad():
        return torch.cat([model(torch.tensor([prompt]))[:, -1] for prompt in prompts])


def greedy(model: Model, prompts: list[list[int]], steps: int, eos: int | None = None) -> list[list[int]]:
    """The new tokens of each prompt by the naive loop, up to and including EOS."""
    rows = []
    for prompt in prompts:
        row: list[int] = []
        while len(row) < steps and (not row or row[-1] != eos):
            row.append(int(alone(model, [prompt + row]).argmax()))
        rows.append(row)
    return rows


class Small:
    """A random model of few weights: for the check, with a forward pass (`here`), and for the student, without (`there`)."""

    def __init__(self, student: Any, rng: torch.Generator, *, V: int = 19, dtype: torch.dtype = torch.float32, tied: bool = False) -> None:
        D, F, L, H, K, Dh = 16, 24, 2, 4, 2, 6
        self.config = Config("small", V, D, F, L, H, K, Dh, 50.0, 1e-5, 256, tied, None, None)

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


# ---- what is fed to an answer --------------------------------------------------------------------------------------


def padded(prompts: list[list[int]], pad_id: int = 0) -> tuple[Tensor, Tensor]:
    """ids (B, T) and num_pad (B,), made here and not by the answer."""
    T = max(map(len, prompts))
    ids = torch.full((len(prompts), T), pad_id)
    for row, prompt in zip(ids, prompts, strict=True):
        row[T - len(prompt) :] = torch.tensor(prompt)
    return ids, torch.tensor([T - len(prompt) for prompt in prompts])


def prefilled(
    student: Any, model: Any, config: Config, prompts: list[list[int]], *, dtype: torch.dtype = torch.float32, cuts: tuple[int, ...] = (),
    pad_id: int = 0, room: int = 0,
) -> tuple[Tensor, Tensor, Any]:  # fmt: skip
    """(logits after the last chunk, num_pad, cache) of prompts that are fed in chunks cut at `cuts`."""
    ids, num_pad = padded(prompts, pad_id)
    T = ids.shape[1]
    cache = student.KVCache(config, len(prompts), T + room, dtype)
    for a, b in pairwise((0, *cuts, T)):
        logits = student.prefill_batch(model, ids[:, a:b], num_pad, cache, _unchanged=True)
        shape(logits, len(prompts), config.vocab_size)
        equal(cache.length, b, what="the cache does not hold the tokens that were fed", cause="Append to every layer once a pass.")
    return logits, num_pad, cache


def decoded(student: Any, model: Any, prompts: list[list[int]], config: Config, num_pad: Tensor, cache: Any) -> Tensor:
    """Logits (B, V) after the last token of each prompt was fed; all before it are in the cache."""
    before = cache.length
    logits = student.decode_batch(model, torch.tensor([[prompt[-1]] for prompt in prompts]), num_pad, cache, _unchanged=True)
    shape(logits, len(prompts), config.vocab_size)
    equal(cache.length, before + 1, what="the cache does not hold one token more", cause="Append the new token, in every layer, once.")
    return logits


def shape(logits: Any, B: int, V: int) -> None:
    that(isinstance(logits, Tensor), "the result is not a tensor", got=type(logits).__name__)
    that(tuple(logits.shape) == (B, V), "wrong shape", expected=(B, V), got=tuple(logits.shape), cause="One row of logits a prompt.")


def generated(student: Any, model: Any, prompts: list[list[int]], **options: Any) -> list[list[int]]:
    got = student.generate_batch(model, prompts, _unchanged=True, **options)
    good = isinstance(got, list) and all(isinstance(row, list) and all(type(token) is int for token in row) for row in got)
    that(good, "the result is not a list of lists of ints", got=type(got).__name__, cause="Rows have unequal lengths: `.tolist()`, then cut.")
    that(len(got) == len(prompts), "not one row for each prompt", expected=len(prompts), got=len(got))
    return list(got)


ALONE = "Each row must be what it is alone."
POSITIONS = "Positions count from each row's first real token: slot minus num_pad, and 0 for pads."
MASK = "A real query sees the real keys up to itself, never a pad; a pad sees itself only, or its softmax is over nothing."
START = "Slots begin at cache.length, not at 0: hand it on as start."
LAST = "Rows are padded on the left, so the last column belongs to every row's last token."
EOS = "A row keeps its tokens up to and including its first EOS; the others go on."
ONE_EACH = "Feed only the newest token: the cache holds the rest."
SLOT = "Write keys and values into slot `position`, in place, in every layer, and nowhere else."

# ---- left_pad ------------------------------------------------------------------------------------------------------


@checks("left_pad", weight=2)
def test_three_rows_by_hand(student, hand):
    """three prompts of lengths 3, 1 and 4"""
    case = hand["three_rows"]
    ids, num_pad = left_padded(student, case["prompts"], case["pad_id"])
    equal(ids, torch.tensor(case["ids"]), cause="Pads stand before the prompt, as many as are missing to the longest.")
    equal(num_pad, torch.tensor(case["num_pad"]), cause="num_pad counts the pads of each row: the longest length minus the row's own.")


def left_padded(student: Any, prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    got = student.left_pad(prompts, pad_id, _unchanged=True)
    that(isinstance(got, tuple | list) and len(got) == 2, "two results are due: ids and num_pad", got=type(got).__name__)
    for name, tensor in zip(("ids", "num_pad"), got, strict=True):
        that(isinstance(tensor, Tensor), f"{name} is not a tensor", got=type(tensor).__name__)
        that(tensor.dtype == torch.int64, f"{name} must be int64", got=str(tensor.dtype))
    return tuple(got)


@checks("left_pad")
def test_nothing_to_pad(student):
    """prompts of equal length, and one prompt alone"""
    for prompts in ([[1, 2], [3, 4], [5, 6]], [[7, 8, 9]], [[4]]):
        ids, num_pad = left_padded(student, prompts, 0)
        equal(ids, torch.tensor(prompts), cause="Where all are equally long there is nothing to add.")
        equal(num_pad, torch.zeros(len(prompts)), cause="num_pad is 0 in a row without pads.")


@checks("left_pad")
def test_pad_id_may_be_a_token(student):
    """prompts that hold the pad id themselves"""
    ids, num_pad = left_padded(student, [[7, 7], [1, 2, 7, 3], [7]], 7)
    equal(ids, torch.tensor([[7, 7, 7, 7], [1, 2, 7, 3], [7, 7, 7, 7]]), cause="Any id may serve as pad.")
    cause = "Count the pads by length. A prompt may hold the same id, so looking for it finds too many."
    equal(num_pad, torch.tensor([2, 0, 3]), cause=cause)


@checks("left_pad")
def test_nothing_to_continue(student):
    """no prompt at all, and a prompt without a token"""
    for prompts in ([], [[]], [[1, 2], []], [[], [3]]):
        raises(ValueError, lambda p=prompts: student.left_pad(p, 0), cause=f"{prompts}: an empty prompt has no last token to go on from.")


# ---- positions_and_mask --------------------------------------------------------------------------------------------


def expected_mask(num_pad: list[int], start: int, q_len: int) -> tuple[Tensor, Tensor]:
    """Positions and mask by their definition, one entry at a time."""
    slots, keys = range(start, start + q_len), range(start + q_len)
    positions = [[max(0, slot - pads) for slot in slots] for pads in num_pad]
    mask = [[[[key == slot or pads <= key <= slot for key in keys] for slot in slots]] for pads in num_pad]
    return torch.tensor(positions), torch.tensor(mask)


def look(student: Any, num_pad: list[int], start: int, q_len: int) -> None:
    got = student.positions_and_mask(torch.tensor(num_pad), start, q_len, _unchanged=True)
    that(isinstance(got, tuple | list) and len(got) == 2, "two results are due: positions and mask", got=type(got).__name__)
    positions, mask = got
    that(isinstance(mask, Tensor) and mask.dtype == torch.bool, "the mask must be bool", got=str(getattr(mask, "dtype", type(mask).__name__)))
    want_positions, want_mask = expected_mask(num_pad, start, q_len)
    case = f"num_pad {num_pad}, start {start}, q_len {q_len}"
    equal(positions, want_positions, what=f"wrong positions for {case}", cause=POSITIONS)
    that(positions.dtype == torch.int64, "positions must be int64", got=str(positions.dtype))
    equal(mask, want_mask, what=f"wrong mask for {case}", cause=f"{MASK} Columns are all slots so far, from 0 on.")


@checks("positions_and_mask", weight=2)
def test_grid_by_hand(student, hand):
    """the grid of three rows, by hand"""
    case = hand["grid"]
    positions, mask = student.positions_and_mask(torch.tensor(case["num_pad"]), 0, 4)
    equal(positions, torch.tensor(case["positions"]), cause=POSITIONS)
    equal(mask, torch.tensor(case["mask"])[:, None] == 1, cause=MASK)
    look(student, case["num_pad"], 0, 4)


@checks("positions_and_mask")
def test_no_pads(student):
    """without pads: the causal mask, and positions as ever"""
    for B, q_len in ((1, 1), (1, 4), (3, 5)):
        look(student, [0] * B, 0, q_len)


@checks("positions_and_mask", weight=2)
def test_one_new_token(student, hand):
    """a decode step: one query after five slots"""
    case = hand["decode"]
    positions, mask = student.positions_and_mask(torch.tensor(case["num_pad"]), case["start"], 1)
    equal(positions, torch.tensor(case["positions"]), cause=f"{POSITIONS} The first slot of this pass is `start`.")
    equal(mask, torch.tensor(case["mask"])[:, None] == 1, cause=f"{MASK} The keys are all start + 1 slots.")


@checks("positions_and_mask")
def test_chunks(student):
    """chunks that begin among the pads and after them"""
    for start in range(6):
        look(student, [3, 0, 5, 1], start, 3)


# ---- prefill_batch -------------------------------------------------------------------------------------------------


@checks("prefill_batch", weight=2)
def test_ragged_prompts(student, rng):
    """each row of a ragged batch as if it were alone"""
    prompts = ragged(rng, [5, 12, 1, 9])
    got, _, _ = prefilled(student, student.model(TINY), tiny().config, prompts)
    close(got, alone(tiny(), prompts), atol=1e-4, cause=f"{LAST} {POSITIONS} {MASK}")


@checks("prefill_batch")
def test_pads_do_not_matter(student, rng):
    """the same logits whatever id the pads have"""
    prompts = ragged(rng, [2, 7, 4])
    want = alone(tiny(), prompts)
    for pad_id in (0, 2, 1000, prompts[0][0]):
        got, _, _ = prefilled(student, student.model(TINY), tiny().config, prompts, pad_id=pad_id)
        close(got, want, atol=1e-4, what=f"wrong logits with pad_id {pad_id}", cause=f"{MASK} Go by num_pad, never by the id.")


@checks("prefill_batch")
def test_rectangles(student, rng):
    """equal lengths, and a batch of one"""
    for lengths in ([6, 6, 6], [8], [1]):
        prompts = ragged(rng, lengths)
        got, _, _ = prefilled(student, student.model(TINY), tiny().config, prompts)
        close(got, alone(tiny(), prompts), atol=1e-4, cause=f"Without pads this is the prefill of the day before. {LAST}")


@checks("prefill_batch", weight=2)
def test_prompts_in_chunks(student, rng):
    """fed in chunks, cut anywhere, also among the pads"""
    prompts = ragged(rng, [3, 10, 6])
    want = alone(tiny(), prompts)
    for cuts in ((5,), (2, 8), (9,), (1, 2, 3)):
        got, _, _ = prefilled(student, student.model(TINY), tiny().config, prompts, cuts=cuts)
        close(got, want, atol=1e-4, what=f"wrong logits after chunks cut at {list(cuts)}", cause=f"{START} {MASK}")


@checks("prefill_batch")
def test_head_at_the_last_column(student, rng):
    """the head is computed once a row"""
    prompts = ragged(rng, [64, 40])
    ids, num_pad = padded(prompts)
    cache = student.KVCache(tiny().config, 2, 64)
    with student.counting() as work:
        got = student.prefill_batch(student.model(TINY), ids, num_pad, cache)
    close(got, alone(tiny(), prompts), atol=1e-4, cause=f"{LAST} {POSITIONS} {MASK}")
    c = tiny().config
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    token = c.num_hidden_layers * (2 * c.hidden_size * (q + kv) + 3 * c.hidden_size * c.intermediate_size)
    due = 2 * (2 * 64 * token + c.num_hidden_layers * 2 * 2 * 64 * 64 * q + 2 * c.vocab_size * c.hidden_size)
    that(
        work.flops <= 1.05 * due,
        "more arithmetic than the layers and one row of logits a prompt need",
        expected=f"about {due / 1e6:.1f} MFLOP",
        got=f"{work.flops / 1e6:.1f} MFLOP",
        cause="Take the last column before the final norm and the head: nobody asks for the other logits.",
    )


# ---- decode_batch --------------------------------------------------------------------------------------------------


@checks("decode_batch", weight=2)
def test_steps_after_ragged_prompts(student, rng):
    """three steps after ragged prompts, each row as if alone"""
    prompts = ragged(rng, [4, 11, 1])
    _, num_pad, cache = prefilled(student, student.model(TINY), tiny().config, prompts, room=3)
    for _ in range(3):
        prompts = [prompt + new for prompt, new in zip(prompts, ragged(rng, [1, 1, 1]), strict=True)]
        got = decoded(student, student.model(TINY), prompts, tiny().config, num_pad, cache)
        close(got, alone(tiny(), prompts), atol=1e-4, cause=f"{ALONE} {START} {POSITIONS} {MASK}")


@checks("decode_batch")
def test_steps_of_rectangles(student, rng):
    """after equal lengths, and one row alone"""
    for lengths in ([6, 6], [5], [1]):
        prompts = ragged(rng, lengths)
        _, num_pad, cache = prefilled(student, student.model(TINY), tiny().config, prompts, room=2)
        for _ in range(2):
            prompts = [prompt + new for prompt, new in zip(prompts, ragged(rng, [1] * len(lengths)), strict=True)]
            got = decoded(student, student.model(TINY), prompts, tiny().config, num_pad, cache)
            close(got, alone(tiny(), prompts), atol=1e-4, cause=f"{START} {POSITIONS}")


@checks("decode_batch")
def test_one_position_a_row(student, rng):
    """one position a row goes through the model, however long the text is"""
    prompts = ragged(rng, [30, 17, 8])
    model = student.model(TINY)
    _, num_pad, cache = prefilled(student, model, tiny().config, prompts, room=1)
    prompts = [[*prompt, 9] for prompt in prompts]
    with student.counting() as work:
        got = decoded(student, model, prompts, tiny().config, num_pad, cache)
    close(got, alone(tiny(), prompts), atol=1e-4, cause=f"{START} {POSITIONS} {MASK}")
    equal(work.positions, 3, what="wrong number of positions in one step of three rows", cause=ONE_EACH)


# ---- generate_batch ------------------------------------------------------------------------------------------------


@checks("generate_batch", weight=3)
def test_ladder(student, rng):
    """greedy, ragged: every row token for token as the naive loop alone"""
    prompts = ragged(rng, [7, 2, 13, 5])
    got = generated(student, student.model(TINY, dtype=torch.float64), prompts, max_new_tokens=8, temperature=0.0)
    equal(got, greedy(tiny(torch.float64), prompts, 8), cause=f"{ALONE} {POSITIONS} {MASK} {LAST}")


@checks("generate_batch", weight=2)
def test_rows_end_each_for_itself(student, rng):
    """EOS ends one row and not the others"""
    prompts = ragged(rng, [3, 9, 5])
    model = tiny(torch.float64)
    free = greedy(model, prompts, 8)
    for row, step in ((0, 1), (1, 3), (2, 0)):
        eos = free[row][step]
        got = generated(student, student.model(TINY, dtype=torch.float64), prompts, max_new_tokens=8, temperature=0.0, eos_token_id=eos)
        equal(got, [cut(tokens, eos) for tokens in free], cause=EOS)


def cut(tokens: list[int], eos: int) -> list[int]:
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens


def all_end(model: Model, rng: torch.Generator) -> tuple[list[list[int]], int, list[list[int]]]:
    """(prompts, eos, new tokens): three rows on one path, so that the same token ends each, at unequal steps."""
    while True:
        (prompt,) = ragged(rng, [4], model.config.vocab_size)
        (path,) = greedy(model, [prompt], 10)
        ends = [i for i in range(5, 10) if path[i] not in path[:i]]
        if ends:
            return [prompt + path[:2], prompt, prompt + path[:4]], path[ends[0]], [path[k : ends[0] + 1] for k in (2, 0, 4)]


@checks("generate_batch", weight=2)
def test_ends_when_every_row_has(student, rng):
    """the work stops with the step at which the last row ends"""
    prompts, eos, want = all_end(tiny(torch.float64), rng)
    model = student.model(TINY, dtype=torch.float64)
    with student.counting() as work:
        got = generated(student, model, prompts, max_new_tokens=60, temperature=0.0, eos_token_id=eos)
    equal(got, want, cause=EOS)
    T, steps = max(map(len, prompts)), max(map(len, want))
    most = len(prompts) * (T + steps - 1)
    cause = "Remember which rows have ended, and leave the loop as soon as all have. The last token is never fed back."
    that(work.positions <= most, "too many positions went through the model", expected=f"{most} at the most", got=work.positions, cause=cause)


@checks("generate_batch")
def test_work_by_hand(student, hand):
    """3 rows, 100 slots of prompt, 20 new tokens: 357 positions"""
    case = hand["work"]
    prompts = [[5] * n for n in case["lengths"]]
    with student.counting() as work:
        got = generated(student, student.model(TINY), prompts, max_new_tokens=case["t_new"], temperature=0.0)
    equal([len(row) for row in got], [case["t_new"]] * 3, what="wrong number of new tokens", cause="Without EOS each row gets all.")
    cause = "One prefill of B * T, then B a step, and no step for the last token: B * (T + steps - 1)."
    that(work.positions <= case["positions"], "too many positions", expected=case["positions"], got=work.positions, cause=cause)


@checks("generate_batch")
def test_limits_of_a_batch(student, rng):
    """max_new_tokens 0 and 1; no prompt; an empty prompt"""
    prompts = ragged(rng, [3, 6])
    model = student.model(TINY, dtype=torch.float64)
    for eos in (None, 0):
        got = generated(student, model, prompts, max_new_tokens=0, temperature=0.0, eos_token_id=eos)
        equal(got, [[], []], cause="No token was asked for: an empty list for each prompt.")
    got = generated(student, model, prompts, max_new_tokens=1, temperature=0.0)
    equal(got, greedy(tiny(torch.float64), prompts, 1), cause="The prefill's logits give the first new token.")
    for wrong in ([], [[1], []]):
        raises(ValueError, lambda p=wrong: student.generate_batch(model, p, max_new_tokens=2), cause="left_pad refuses it; let it.")


@checks("generate_batch")
def test_eos_and_pads_in_prompts(student, rng):
    """EOS in a prompt is no end, and any id may be the pad"""
    model = tiny(torch.float64)
    first, second, third = ragged(rng, [4, 9, 2])
    (path,) = greedy(model, [first], 5)
    eos = path[2]
    prompts = [first, second[:4] + [eos] + second[4:], [eos, *third]]
    want = [cut(row, eos) for row in greedy(model, prompts, 5)]
    for pad_id in (0, eos, first[1]):
        got = generated(
            student, student.model(TINY, dtype=torch.float64), prompts, max_new_tokens=5, temperature=0.0, eos_token_id=eos, pad_id=pad_id
        )
        equal(got, want, what=f"wrong tokens with pad_id {pad_id}", cause="Only an EOS that the loop emitted ends a row. Pads go by num_pad.")


def uniform(student: Any, V: int = 8) -> Small:
    """A model whose logits are all 0."""
    small = Small(student, torch.Generator().manual_seed(1), V=V)
    weights = small.weights
    weights.lm_head.zero_()
    small.there = student.WeightsOnly(small.config, weights, None)
    return small


@checks("generate_batch")
def test_draws_from_its_generator(student):
    """draws from the generator that is given, and from nothing else; greedy draws nothing"""
    # Two unrelated runs of 60 tokens over 8 equal ones agree with probability 2 ** -180.
    model = uniform(student).there
    prompts, options = [[1, 2], [3], [4, 5, 6]], {"max_new_tokens": 20}
    first = generated(student, model, prompts, generator=student.generator(5), _rng_unchanged=True, **options)
    again = generated(student, model, prompts, generator=student.generator(5), **options)
    equal(again, first, what="two generators in the same state gave different tokens", cause="Pass `generator=generator` on.")
    other = generated(student, model, prompts, generator=student.generator(6), **options)
    that(other != first, "another seed gave the same tokens", cause="Pass the generator on, and never seed it.")
    that(first[0] != first[1], "two rows drew the same 20 tokens", cause="Each row draws for itself.")
    loose = [generated(student, model, prompts, **options) for _ in range(2)]
    that(loose[0] != loose[1], "two runs without a generator gave the same tokens", cause="Then torch's global state serves, unseeded.")
    generator = student.generator(5)
    before = generator.get_state()
    generated(student, model, prompts, temperature=0.0, generator=generator, _rng_unchanged=True, **options)
    equal(generator.get_state(), before, what="greedy moved the generator", cause="Temperature 0 draws nothing.")
