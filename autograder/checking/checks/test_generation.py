"""Visible checks of the loop.

The models here are toys that keep a record: how often they were called, with how many tokens, and whether gradients were on.
Most of them put all of their trust in one token, so that every right loop takes the same one.

A frequency test fails a right loop with probability at most 1e-10: Chernoff's bound says that something of probability
q takes a share of at least (or at most) f of n independent draws with probability at most exp(-n KL(f, q)), where KL
is the relative entropy of two coins. With V shares and two sides each, the limit on n KL is ln(2V / 1e-10).
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from autograder.authoring import checks, equal, raises, that
from autograder.base.wording import counted
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.randomness import draws_from_the_global_state, ends_where_drawn

FALSE_ALARM = 1e-10
SURE = 50.0  # the logit of the one token that a toy believes in: every other has a chance of exp(-50)
ROOMY = 100  # a block_size that nothing here reaches


# ---- toy models ----------------------------------------------------------------------------------------------------


class Toy:
    """A model that keeps a record. `logits_of` turns ids (B, T) into logits (B, T, V).

    breaks_at: the call, counted from 1, that raises.
    """

    def __init__(self, logits_of: Callable[[Tensor], Tensor], *, breaks_at: int | None = None) -> None:
        self.logits_of, self.breaks_at = logits_of, breaks_at
        self.lengths: list[int] = []  # T of each call
        self.with_gradients = 0  # calls that recorded gradients

    def __call__(self, ids: Tensor, /) -> Tensor:  # a callable's argument has no name that a caller may rely on
        if ids.dim() != 2 or ids.dtype != torch.int64:
            raise ValueError(f"the model takes int64 ids of shape (B, T), got {ids.dtype} of shape {tuple(ids.shape)}")
        self.lengths.append(ids.shape[1])
        self.with_gradients += torch.is_grad_enabled()
        if self.calls == self.breaks_at:
            raise RuntimeError(BROKEN)
        return self.logits_of(ids)

    @property
    def calls(self) -> int:
        return len(self.lengths)


BROKEN = "the model of this check raised this error on purpose"


def sure_of(tokens: Tensor, vocab: int) -> Tensor:
    """Logits (B, T, V) that leave no choice but `tokens` (B, T)."""
    return torch.full((*tokens.shape, vocab), 0.0).scatter(-1, tokens[..., None], SURE)


def after_last(following: list[int]) -> Callable[[Tensor], Tensor]:
    """A bigram model: after token t comes following[t]."""
    table = torch.tensor(following)
    return lambda ids: sure_of(table[ids], len(following))


def after_all(vocab: int) -> Callable[[Tensor], Tensor]:
    """The next token depends on every token of the input, on their order, and on where the input begins."""

    def logits_of(ids: Tensor) -> Tensor:
        mixed = torch.full((len(ids),), 7)
        steps = []
        for column in ids.unbind(dim=1):
            mixed = (31 * mixed + column + 1) % 10_007
            steps.append(mixed % vocab)
        return sure_of(torch.stack(steps, dim=1), vocab)

    return logits_of


def always(row: list[float]) -> Callable[[Tensor], Tensor]:
    """The same logits after everything."""
    logits = torch.tensor(row)
    return lambda ids: logits.expand(*ids.shape, len(row)).clone()


def unroll(logits_of: Callable[[Tensor], Tensor], prompt: list[int], steps: int, block_size: int, eos: int | None = None) -> list[int]:
    """The new tokens of one row, EOS included, taken greedily and one by one."""
    ids = list(prompt)
    for _ in range(steps):
        ids.append(int(logits_of(torch.tensor([ids[-block_size:]]))[0, -1].argmax()))
        if ids[-1] == eos:
            break
    return ids[len(prompt) :]


def filled(rows: list[list[int]], fill: int | None) -> Tensor:
    """Rows of unequal length as one tensor, the short ones continued with `fill`."""
    longest = max(len(r) for r in rows)
    return torch.tensor([r + [fill if fill is not None else 0] * (longest - len(r)) for r in rows])


# ---- what is asked of an answer ------------------------------------------------------------------------------------


def generated(student: Any, model: Any, idx: Tensor, **options: Any) -> Tensor:
    """The new tokens (B, n) of `generate`, after a look at form and prompt."""
    got = student.generate(model, idx, _unchanged=True, **options)
    that(isinstance(got, Tensor), "the result is not a tensor", got=type(got).__name__)
    that(got.dtype == torch.int64, "token ids are int64", got=str(got.dtype))
    limit = idx.shape[1] + options["max_new_tokens"]
    that(
        got.dim() == 2 and len(got) == len(idx) and idx.shape[1] <= got.shape[1] <= limit,
        "wrong shape",
        expected=f"({len(idx)}, T + n) with T = {idx.shape[1]} and n at most {options['max_new_tokens']}",
        got=str(tuple(got.shape)),
    )
    equal(
        got[:, : idx.shape[1]],
        idx,
        what="the result does not begin with the prompt",
    )
    return got[:, idx.shape[1] :]


def frequencies(got: Tensor, want: list[float], *, under: str = "") -> None:
    """Fails if so many independent draws from `want` would hardly ever look like `got` (n,). under: the settings, for the message."""
    that(bool(((got >= 0) & (got < len(want))).all()), "a token outside the vocabulary", got=(int(got.min()), int(got.max())))
    shares = (torch.bincount(got, minlength=len(want)).double() / len(got)).tolist()
    for token, (f, q) in enumerate(zip(shares, want, strict=True)):
        that(q > 0 or f == 0, f"token {token} has probability 0 and came out{under}", got=f"in {f:.2%} of rows")
        surprise = len(got) * sum(a * math.log(a / b) for a, b in ((f, q), (1 - f, 1 - q)) if a > 0 and b > 0)
        that(
            surprise <= math.log(2 * len(want) / FALSE_ALARM) and not (q >= 1 and f < 1),
            f"token {token} comes too often or too rarely in {len(got)} rows{under}",
            expected=f"about {q:.4f} of them",
            got=f"{f:.4f}",
        )


def probabilities(row: list[float], tau: float = 1.0) -> list[float]:
    return torch.softmax(torch.tensor(row, dtype=torch.float64) / tau, dim=-1).tolist()


@contextmanager
def caller(student: Any, *, gradients: bool) -> Iterator[None]:
    """The student's code is called by somebody who has gradients on, or off."""
    before = student.gradients(gradients)
    try:
        yield
    finally:
        student.gradients(before != "off")


def as_the_caller_has_it(student: Any, gradients: bool, when: str) -> None:
    """Fails unless gradient mode is the caller's."""
    equal(student.gradients(), "on" if gradients else "off", what=f"gradient mode {when}")


def ran_quietly(model: Toy, what: str) -> None:
    """Fails if a call recorded gradients."""
    that(
        model.with_gradients == 0,
        f"{what}: the model ran with gradients on",
        got=f"{model.with_gradients} of {counted(model.calls, 'call')}",
        cause="Put the model's call under `with torch.no_grad():`.",
    )


def in_two_modes(student: Any, *, training: bool) -> Any:
    """A torch module that is sure of the same token again. Its second part is in the other mode, as a frozen layer may be."""
    nn = student.torch.nn
    model = nn.Sequential(nn.Embedding.from_pretrained(SURE * torch.eye(5)), nn.Dropout(0.0))
    model.train(training)
    model[1].train(not training)
    return model


def modes_are_left(model: Any, training: bool, when: str) -> None:
    """Fail unless every part of `in_two_modes` is in the mode that it was given."""
    got = ["training" if part.training else "evaluation" for part in (model, model[0], model[1])]
    want = ["training", "training", "evaluation"] if training else ["evaluation", "evaluation", "training"]
    that(
        got == want,
        f"a torch module and its two parts, {when}: a mode has changed",
        expected=want,
        got=got,
        cause="Leave eval() and train() to the caller: both switch the module and all of its parts.",
    )


CROP = "Hand the model the last block_size tokens, idx[:, -block_size:], in every step."


# ---- generate ------------------------------------------------------------------------------------------------------


@checks("generate", weight=2)
def test_greedy_by_hand(student, hand):
    """greedy decoding of the bigram model, by hand"""
    case = hand["bigram"]
    table = torch.tensor(case["probs"], dtype=torch.float64).log()
    model = Toy(lambda ids: table[ids])
    end = case["words"].index("<end>")
    idx = torch.tensor([[case["words"].index(case["prompt"])]])
    got = generated(student, model, idx, max_new_tokens=9, block_size=ROOMY, temperature=0.0, eos_token_id=end)
    want = [[case["words"].index(w) for w in case["greedy"]]]
    equal(got, torch.tensor(want))
    that(model.calls <= 3, "the model was called more often than tokens came out", expected=3, got=model.calls)


@checks("generate", weight=2)
def test_looks_at_the_last_position_of_everything(student):
    """each step gives the model all tokens in order and takes the logits of the last position"""
    idx = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    got = generated(student, Toy(after_all(10)), idx, max_new_tokens=6, block_size=ROOMY, temperature=0.0)
    want = [unroll(after_all(10), row, 6, ROOMY) for row in idx.tolist()]
    once = after_all(10)(idx).argmax(dim=-1)
    suspects = [
        (once[:, :1].repeat(1, 6), "These tokens come from position 0. Only the last one speaks about the token to come: logits[:, -1]."),
        (once[:, -1:].repeat(1, 6), "Each of these tokens follows the prompt alone: append each one before the next step."),
    ]
    equal(got, torch.tensor(want), suspects=suspects)


@checks("generate", weight=2)
def test_crops_to_block_size(student, hand):
    """the model never gets more than block_size tokens, and always gets the last ones"""
    case = hand["window"]
    idx = torch.tensor([case["prompt"]])
    model = Toy(after_all(10))
    got = generated(student, model, idx, max_new_tokens=case["steps"], block_size=case["block_size"], temperature=0.0)
    that(
        max(model.lengths, default=0) <= case["block_size"],
        "the model was given too many tokens",
        expected=case["lengths"],
        got=model.lengths,
        cause=CROP,
    )
    equal(got, torch.tensor([unroll(after_all(10), case["prompt"], case["steps"], case["block_size"])]))
    equal(model.lengths, case["lengths"], what="wrong numbers of tokens given to the model, call by call")
    long = torch.arange(12)[None] % 10
    got = generated(student, Toy(after_all(10)), long, max_new_tokens=5, block_size=4, temperature=0.0)
    equal(got, torch.tensor([unroll(after_all(10), long[0].tolist(), 5, 4)]))


@checks("generate", weight=2)
def test_rows_end_at_different_steps(student, hand):
    """rows that end at different steps, greedy and drawn: an ended row is filled with EOS, other rows go on"""
    case = hand["two_rows"]
    model = Toy(after_last(case["following"]))
    idx = torch.tensor(case["prompts"])
    got = generated(student, model, idx, max_new_tokens=12, block_size=ROOMY, temperature=0.0, eos_token_id=case["eos"])
    unfilled = [unroll(after_last(case["following"]), prompt, 3, ROOMY) for prompt in case["prompts"]]
    suspects = [(torch.tensor(unfilled), "A row that had ended went on talking: from its EOS on it gets EOS, whatever the sampler says.")]
    equal(got, torch.tensor(case["new_tokens"]), suspects=suspects)
    that(model.calls <= 3, "more calls of the model than steps: all rows go through it together", expected=3, got=model.calls)
    model, idx = Toy(after_last([4, 2, 3, 1, 0, 6, 0])), torch.tensor([[0], [1], [5]])  # 0, 4; 1, 2, 3, 1, ... without end; 5, 6, 0, 4
    got = generated(student, model, idx, max_new_tokens=5, block_size=ROOMY, temperature=0.0, eos_token_id=4)
    equal(got, torch.tensor([[4, 4, 4, 4, 4], [2, 3, 1, 2, 3], [6, 0, 4, 4, 4]]))
    # EOS comes with 0.27 (the least probable of three) or 0.40 (the most probable) in each step: of 12 rows all have ended by step 95
    # but for a probability of 12 * 0.74 ** 95 < 1e-11.
    for eos in (1, 0):
        model, generator = Toy(always([0.4, 0.0, 0.2])), student.generator(9)
        got = generated(student, model, torch.zeros(12, 1, dtype=torch.int64), max_new_tokens=95, block_size=3, eos_token_id=eos,
                        generator=generator)  # fmt: skip
        steps = ends_where_drawn(got, eos)
        that(model.calls <= steps, "more calls than steps", expected=steps, got=model.calls)


@checks("generate")
def test_end_of_sequence_in_the_prompt(student):
    """an EOS in the prompt does not end a row; token 0 can be EOS"""
    idx = torch.tensor([[2, 0, 1], [1, 3, 0]])
    got = generated(student, Toy(after_last([1, 2, 3, 0])), idx, max_new_tokens=9, block_size=ROOMY, temperature=0.0, eos_token_id=0)
    equal(got, torch.tensor([[2, 3, 0, 0], [1, 2, 3, 0]]))
    conversation = [3, 0, 4, 0, 1]
    got = generated(student, Toy(after_all(10)), torch.tensor([conversation]), max_new_tokens=4, block_size=ROOMY, temperature=0.0,
                    eos_token_id=0)  # fmt: skip
    want = unroll(after_all(10), conversation, 4, ROOMY, eos=0)
    equal(got, torch.tensor([want]), what="wrong tokens with EOS in the prompt and a model that looks at all tokens")


@checks("generate")
def test_stops_after_max_new_tokens(student):
    """without EOS, max_new_tokens tokens follow; 0 returns the prompt without a call of the model"""
    idx = torch.tensor([[1, 2, 3]])
    model = Toy(after_last([1, 2, 3, 0]))
    for eos in (None, 0):
        got = generated(student, model, idx, max_new_tokens=0, block_size=ROOMY, temperature=0.0, eos_token_id=eos)
        equal(tuple(got.shape), (1, 0), what="wrong number of new tokens")
    that(model.calls == 0, "the model was called although no token was asked for", got=model.calls)
    got = generated(student, model, idx, max_new_tokens=7, block_size=ROOMY, temperature=0.0)
    equal(got, torch.tensor([[0, 1, 2, 3, 0, 1, 2]]))
    got = generated(student, model, idx, max_new_tokens=600, block_size=3, temperature=0.0)
    equal(got, torch.arange(600)[None] % 4, what="wrong tokens with max_new_tokens 600")


@checks("generate")
def test_work_by_hand(student, hand):
    """100 prompt tokens and 20 new tokens: 2,190 positions go through the model"""
    case = hand["work"]
    model = Toy(after_last([1, 2, 3, 0]))
    idx = torch.zeros(1, case["t_prompt"], dtype=torch.int64)
    got = generated(student, model, idx, max_new_tokens=case["t_new"], block_size=1_000, temperature=0.0)
    equal(got, torch.arange(1, 21)[None] % 4)
    equal(sum(model.lengths), case["positions"], what="wrong number of positions went through the model")


@checks("generate")
def test_no_gradient(student):
    """no gradient is recorded"""
    model = Toy(after_last([1, 2, 0]))
    with caller(student, gradients=True):
        got = generated(student, model, torch.tensor([[0]]), max_new_tokens=3, block_size=ROOMY, temperature=0.0)
    equal(got, torch.tensor([[1, 2, 0]]))
    ran_quietly(model, "gradients on before the call")


@checks("generate")
def test_gradient_mode_of_the_caller(student):
    """gradient mode is the same after the call as before"""
    for gradients in (True, False):
        for steps, eos, want in ((2, None, [[1, 2]]), (9, 2, [[1, 2]]), (0, None, [[]])):
            model, idx = Toy(after_last([1, 2, 0])), torch.tensor([[0]])
            with caller(student, gradients=gradients):
                got = generated(student, model, idx, max_new_tokens=steps, block_size=ROOMY, temperature=0.0, eos_token_id=eos)
                as_the_caller_has_it(student, gradients, f"after {counted(len(want[0]), 'token')}")
            equal(got, torch.tensor(want, dtype=torch.int64))


@checks("generate")
def test_after_an_exception(student):
    """a model that raises: the error reaches the caller, and gradient mode is the same as before"""
    for gradients in (True, False):
        model = Toy(after_last([1, 2, 0]), breaks_at=2)
        with caller(student, gradients=gradients):
            raises(
                RuntimeError,
                lambda m=model: student.generate(m, torch.tensor([[0]]), max_new_tokens=3, block_size=ROOMY, temperature=0.0),
            )
            as_the_caller_has_it(student, gradients, "after an exception")
        equal(model.calls, 2, what="wrong number of calls: the second raised")


@checks("generate")
def test_any_callable(student):
    """the model may be a plain function"""
    got = generated(
        student, lambda text, /: after_last([1, 2, 0])(text), torch.tensor([[0], [1]]), max_new_tokens=2, block_size=ROOMY, temperature=0.0
    )
    equal(got, torch.tensor([[1, 2], [2, 0]]))


@checks("generate")
def test_modes_of_a_module(student):
    """a torch module and its parts stay in training or evaluation mode, as the caller set them"""
    for training in (True, False):
        model = in_two_modes(student, training=training)
        got = generated(student, model, torch.tensor([[3], [1]]), max_new_tokens=2, block_size=ROOMY, temperature=0.0)
        equal(got, torch.tensor([[3, 3], [1, 1]]))
        modes_are_left(model, training, "after two tokens")


FOUR = [2.0, 1.0, 0.0, -1.0]


@checks("generate")
def test_default_draws_from_the_model(student):
    """without settings, the tokens drawn for many rows follow the model's own distribution"""
    # False alarm: at most 1e-10 (see the top of this file).
    idx = torch.zeros(4_000, 1, dtype=torch.int64)
    got = generated(student, Toy(always(FOUR)), idx, max_new_tokens=1, block_size=ROOMY, generator=student.generator(1))
    that(got.shape[1] == 1, "wrong number of new tokens", expected=1, got=got.shape[1])
    frequencies(got[:, 0], probabilities(FOUR))


@checks("generate")
def test_defaults(student):
    """the defaults are temperature 1, no top_k, no top_p and no EOS"""
    # 1,000 rows over 4,096 tokens, no two equal, one of which holds half: a temperature of 1.01 draws another token in 1 of 50 rows.
    model = Toy(always([8.1, *(-1e-4 * i for i in range(4_095))]))
    idx = torch.zeros(1_000, 1, dtype=torch.int64)
    plain = generated(student, model, idx, max_new_tokens=1, block_size=ROOMY, generator=student.generator(4))
    defaults = {"temperature": 1.0, "top_k": None, "top_p": None, "eos_token_id": None}
    again = generated(student, model, idx, max_new_tokens=1, block_size=ROOMY, generator=student.generator(4))
    equal(again, plain, what="two generators in the same state gave different tokens")
    got = generated(student, model, idx, max_new_tokens=1, block_size=ROOMY, generator=student.generator(4), **defaults)
    equal(plain, got, what="the defaults give other tokens than temperature=1.0 and None for the rest, from the same generator state")


@checks("generate")
def test_settings_reach_the_sampler(student):
    """temperature, top_k and top_p reach the sampler, and the logits reach the sampler without rounding"""
    # False alarm: at most 1e-10 for each setting (see the top of this file).
    idx = torch.zeros(4_000, 1, dtype=torch.int64)
    best = [1.0, 0.0, 0.0, 0.0]
    for options, want in (
        ({"temperature": 2.0}, probabilities(FOUR, 2.0)),
        ({"temperature": 3.0, "top_k": 1}, best),
        ({"temperature": 1.0, "top_p": 0.05}, best),
        ({"temperature": 1.0, "top_k": 2, "top_p": 0.7}, best),  # of the two that are left, the first has 0.73; of all four, 0.64
        ({"temperature": 0}, best),
    ):
        got = generated(student, Toy(always(FOUR)), idx, max_new_tokens=1, block_size=ROOMY, generator=student.generator(2), **options)
        that(got.shape[1] == 1, "wrong number of new tokens", expected=1, got=got.shape[1])
        frequencies(got[:, 0], want, under=f", with {options}")
    near = Toy(always([9.0, 9.001, 8.9, 9.0]))
    got = generated(student, near, torch.tensor([[0]]), max_new_tokens=1, block_size=ROOMY, temperature=0.0)
    equal(got, torch.tensor([[1]]), what="wrong token at temperature 0: the best logit is ahead by a thousandth")


@checks("generate")
def test_generator(student):
    """all draws come from the given generator: an equal state gives equal tokens, a later state gives others"""
    # Two unrelated runs of 64 tokens over 8 equal ones agree with probability 2 ** -192.
    idx = torch.zeros(4, 1, dtype=torch.int64)
    options = {"max_new_tokens": 16, "block_size": ROOMY}
    model = Toy(always([0.0] * 8))
    first, again = student.generator(7), student.generator(7)
    got = student.generate(model, idx, generator=first, _rng_unchanged=True, **options)
    equal(tuple(got.shape), (4, 17), what="wrong shape")
    equal(
        student.generate(model, idx, generator=again, **options),
        got,
        what="two generators in the same state gave different tokens",
    )
    that(
        not torch.equal(student.generate(model, idx, generator=first, **options), got),
        "a second run with the same generator gave the same tokens again",
    )
    that(len({tuple(column) for column in got[:, 1:].T.tolist()}) > 1, "every step drew the same tokens")


@checks("generate")
def test_without_a_generator(student):
    """without a generator, draws come from torch's global random state; temperature 0 draws nothing"""
    idx = torch.zeros(2, 1, dtype=torch.int64)
    options = {"max_new_tokens": 8, "block_size": ROOMY}
    draws_from_the_global_state(lambda **watched: generated(student, Toy(always([0.0] * 8)), idx, **options, **watched))
    model, generator = Toy(after_last([1, 2, 0])), student.generator(5)
    before = generator.get_state()
    got = generated(student, model, idx, temperature=0.0, generator=generator, _rng_unchanged=True, **options)
    equal(got, torch.tensor([[1, 2, 0, 1, 2, 0, 1, 2]] * 2))
    equal(generator.get_state(), before, what="temperature 0 moved the generator: the best token needs no random number")


@checks("generate")
def test_many_rows_and_a_large_vocabulary(student):
    """forty rows share one call of the model per step; EOS may be the last token of a large vocabulary"""
    model = Toy(after_last([1, 2, 3, 0]))
    idx = torch.zeros(40, 1, dtype=torch.int64)
    got = generated(student, model, idx, max_new_tokens=5, block_size=ROOMY, temperature=0.0, eos_token_id=3)
    equal(got, torch.tensor([[1, 2, 3]] * 40))
    equal(model.calls, 3, what="wrong number of calls: expected one a step, with all forty rows")
    following, end = [1] * 36_000, 35_999
    following[5], following[34_000] = 34_000, end
    model, idx = Toy(after_last(following)), torch.tensor([[5], [34_000]])
    got = generated(student, model, idx, max_new_tokens=4, block_size=ROOMY, temperature=0.0, eos_token_id=end)
    equal(got, torch.tensor([[34_000, end], [end, end]]), what="wrong tokens of a vocabulary of 36,000, of which the last one is EOS")


@checks("generate")
def test_two_answers(student):
    """two calls with prompts of the same shape: the second result does not overwrite the first"""
    prompts = torch.tensor([[4, 2]]), torch.tensor([[7, 1]])
    model, options = after_all(10), {"max_new_tokens": 3, "block_size": ROOMY, "temperature": 0.0}
    for idx, got in zip(prompts, student.generate.again(*([model, idx] for idx in prompts), **options), strict=True):
        want = [idx[0].tolist() + unroll(model, idx[0].tolist(), 3, ROOMY)]
        equal(got, torch.tensor(want), what=f"wrong ids after {idx.tolist()}, read after the second call")


def on_any_device(student: Any, token: int, vocab: int) -> Any:
    """A model in the student's process that says `token` after everything but token 0. It has no weights, so it is on no device."""
    nn = student.torch.nn
    alone = nn.ConstantPad1d((token, vocab - 1 - token), 0)  # ids (B, T, 1) -> (B, T, vocab): zeros around them
    return nn.Sequential(nn.Unflatten(-1, (-1, 1)), alone, nn.Sigmoid())


def runs_on_a_gpu(student: Any, token: int, vocab: int, idx: Tensor, **options: Any) -> None:
    """Fail if the loop raises with ids on an emulated GPU, where values can be read and tensors of two devices do not mix."""
    student.generate.on_gpu(on_any_device(student, token, vocab), idx, then=[], block_size=ROOMY, temperature=0.0, **options)


@checks("generate")
def test_devices(student):
    """ids on the meta device or an emulated GPU: every new tensor is on the same device"""
    for eos in (None, 0):
        options = {"max_new_tokens": 2, "block_size": ROOMY, "temperature": 0.0, "eos_token_id": eos}
        on_one_device(student.generate.on_meta(Toy(after_last([1, 2, 0])), torch.tensor([[0], [1]]), **options))
    for eos in (None, 1):
        runs_on_a_gpu(student, 1, 3, torch.tensor([[2], [1]]), max_new_tokens=3, eos_token_id=eos)


# ---- stream --------------------------------------------------------------------------------------------------------


def streamed(student: Any, model: Any, prompt: list[int], **options: Any) -> list[int]:
    """All tokens of a stream, each looked at."""
    tokens = []
    for token in iter(student.stream(model, torch.tensor([prompt]), **options)):
        that(
            type(token) is int,
            "a streamed token is not an int",
            got=getattr(token, "type_name", type(token).__name__),
        )
        tokens.append(token)
        that(len(tokens) <= options["max_new_tokens"], "more tokens than max_new_tokens came out", expected=options["max_new_tokens"])
    return tokens


LAZY = "Work only when a token is asked for: in a function with `yield`, the code up to the first `yield` waits for the first next()."


@checks("stream", weight=2)
def test_stream_by_hand(student, hand):
    """greedy decoding of the bigram model, by hand: the tokens come one at a time"""
    case = hand["bigram"]
    table = torch.tensor(case["probs"], dtype=torch.float64).log()
    model = Toy(lambda ids: table[ids])
    end = case["words"].index("<end>")
    prompt = [case["words"].index(case["prompt"])]
    got = streamed(student, model, prompt, max_new_tokens=9, block_size=ROOMY, temperature=0.0, eos_token_id=end)
    equal(got, [case["words"].index(w) for w in case["greedy"]])
    that(model.calls <= 3, "the model was called more often than tokens came out", expected=3, got=model.calls)


@checks("stream", weight=2)
def test_stream_is_lazy(student):
    """the model is called only when a token is asked for, once per token"""
    model = Toy(after_all(10))
    tokens = iter(student.stream(model, torch.tensor([[3, 1, 4]]), max_new_tokens=4, block_size=ROOMY, temperature=0.0))
    that(model.calls == 0, "the model was called before a token was asked for", got=counted(model.calls, "call"), cause=LAZY)
    for count, want in enumerate(unroll(after_all(10), [3, 1, 4], 4, ROOMY), start=1):
        token = next(tokens, None)
        that(token is not None, f"the stream ended too early, with max_new_tokens 4: token number {count} is missing")
        equal(token, want, what=f"wrong token number {count}")
        that(model.calls <= count, f"{counted(model.calls, 'call')} of the model for {counted(count, 'token')}")
    equal(next(tokens, None), None, what="a token came after the last one")
    idle = "Nothing is left to make after the last token: look at the limit before you call the model."
    that(model.calls <= 4, "the model was called after the last token", expected=4, got=model.calls, cause=idle)


@checks("stream", weight=2)
def test_stream_is_generate(student):
    """stream gives the same tokens as generate, greedy and drawn; without a generator, the drawn tokens vary"""
    idx = torch.tensor([[3, 1, 4]])
    options = {"max_new_tokens": 24, "block_size": 5}
    whole = generated(student, Toy(after_all(10)), idx, temperature=0.0, **options)
    equal(
        streamed(student, Toy(after_all(10)), [3, 1, 4], temperature=0.0, **options),
        whole[0].tolist(),
        what="not the tokens of generate",
    )
    # Two unrelated runs of 24 tokens over 16 equal ones agree with probability 2 ** -96.
    whole = generated(student, Toy(always([0.0] * 16)), idx, generator=student.generator(3), **options)
    generator = student.generator(3)
    drawn = streamed(student, Toy(always([0.0] * 16)), [3, 1, 4], generator=generator, **options)
    equal(drawn, whole[0].tolist(), what="from the same generator state, not the tokens of generate")
    more = streamed(student, Toy(always([0.0] * 16)), [3, 1, 4], generator=generator, **options)
    that(more != drawn, "a second stream from the same generator gave the same tokens again")
    loose = streamed(student, Toy(always([0.0] * 16)), [3, 1, 4], **options)
    that(len(set(loose)) > 1, "without a generator, 24 draws over 16 equal tokens gave the same token each time")


@checks("stream")
def test_stream_filters(student):
    """top_k and top_p reach the sampler, separately and together"""
    # Without a filter, 24 draws all give token 1 with probability 0.29 ** 24; with one of the last two, with 0.53 ** 24 at most.
    model, options = Toy(always([0.0, 0.3, 0.2, 0.1])), {"max_new_tokens": 24, "block_size": ROOMY}
    for filters in ({"top_k": 1}, {"top_p": 0.05}, {"top_k": 2, "top_p": 0.5}):
        got = streamed(student, model, [0], generator=student.generator(6), **filters, **options)
        equal(got, [1] * 24, what=f"wrong tokens with {filters}, which leaves the best one only")


@checks("stream")
def test_two_streams_of_the_same_ids(student):
    """two streams of the same ids, read in turn: neither changes the ids or the tokens of the other"""
    prompt, model = [2, 7, 1], Toy(after_all(10))
    for block_size in (ROOMY, 3):  # 3: the prompt fills the window
        options, idx = {"max_new_tokens": 4, "block_size": block_size, "temperature": 0.0}, torch.tensor([prompt])
        first, second = (iter(made) for made in student.stream.again([model, idx], [model, idx], **options))
        want = unroll(after_all(10), prompt, 4, block_size)
        equal([next(first), next(first)], want[:2], what=f"wrong first tokens with block_size {block_size}")
        equal(list(second), want, what=f"wrong tokens of the second stream, after two tokens of the first, block_size {block_size}")
        equal(list(first), want[2:], what=f"wrong last tokens of the first stream, after the end of the second, block_size {block_size}")


@checks("stream")
def test_stream_crops(student):
    """the model never gets more than block_size tokens"""
    model = Toy(after_all(10))
    got = streamed(student, model, [5, 6, 7, 8, 9, 1], max_new_tokens=5, block_size=4, temperature=0.0)
    equal(got, unroll(after_all(10), [5, 6, 7, 8, 9, 1], 5, 4))
    that(max(model.lengths) <= 4, "the model was given too many tokens", expected=4, got=max(model.lengths), cause=CROP)


@checks("stream")
def test_stream_ends(student):
    """only a generated EOS ends the stream early, whatever the id of EOS; max_new_tokens = 0 gives no tokens"""
    model = Toy(after_last([1, 2, 3, 0]))
    got = streamed(student, model, [2, 0, 1], max_new_tokens=9, block_size=ROOMY, temperature=0.0, eos_token_id=0)
    equal(got, [2, 3, 0])
    equal(streamed(student, model, [2, 0], max_new_tokens=9, block_size=ROOMY, temperature=0.0, eos_token_id=0), [1, 2, 3, 0])
    got = streamed(student, model, [0, 1], max_new_tokens=3, block_size=ROOMY, temperature=0.0, eos_token_id=0)
    equal(got, [2, 3, 0], what="wrong tokens with max_new_tokens 3, when EOS is the third")
    large = Toy(after_last([40_000] * 40_001))
    got = streamed(student, large, [5], max_new_tokens=4, block_size=ROOMY, temperature=0.0, eos_token_id=40_000)
    equal(got, [40_000], what="wrong tokens with EOS 40,000")
    got = streamed(student, model, [0], max_new_tokens=6, block_size=ROOMY, temperature=0.0)
    equal(got, [1, 2, 3, 0, 1, 2])
    before = model.calls
    equal(
        streamed(student, model, [0], max_new_tokens=0, block_size=ROOMY, temperature=0.0), [], what="tokens although none were asked for"
    )
    that(model.calls == before, "the model was called although no token was asked for")


@checks("stream")
def test_stream_runs_quietly(student):
    """no gradient is recorded"""
    with caller(student, gradients=True):
        for eos, want in ((None, [1, 2, 0, 1]), (2, [1, 2])):
            model = Toy(after_last([1, 2, 0]))
            got = streamed(student, model, [0], max_new_tokens=4, block_size=ROOMY, temperature=0.0, eos_token_id=eos)
            ran_quietly(model, "gradients on before the call")
            equal(got, want)
            as_the_caller_has_it(student, True, "after the last token")


@checks("stream")
def test_stream_between_two_tokens(student):
    """gradient mode is as the caller set it between two tokens, and after the stream is dropped"""
    for gradients in (True, False):
        model = Toy(after_last([1, 2, 0]))
        with caller(student, gradients=gradients):
            tokens = iter(student.stream(model, torch.tensor([[0]]), max_new_tokens=4, block_size=ROOMY, temperature=0.0))
            as_the_caller_has_it(student, gradients, "before the first token")
            for count, want in enumerate((1, 2), start=1):
                equal(next(tokens), want, what=f"wrong token number {count}")
                as_the_caller_has_it(student, gradients, f"after token {count}")
            ran_quietly(model, "two tokens")
            student.forget(tokens)
            del tokens
            as_the_caller_has_it(student, gradients, "after the stream was dropped midway")
            equal(model.calls, 2, what="wrong number of calls for two tokens, after the stream was dropped")


@checks("stream")
def test_stream_modes_of_a_module(student):
    """a torch module and its parts stay in training or evaluation mode, also between two tokens"""
    for training in (True, False):
        model = in_two_modes(student, training=training)
        tokens = iter(student.stream(model, torch.tensor([[1, 4]]), max_new_tokens=2, block_size=ROOMY, temperature=0.0))
        equal(next(tokens), 4, what="wrong token number 1")
        modes_are_left(model, training, "between two tokens")
        equal(list(tokens), [4], what="wrong last token")
        modes_are_left(model, training, "after the last token")


@checks("stream")
def test_stream_while_the_caller_trains(student):
    """the caller changes gradient mode between two tokens: the new mode stays set"""
    model = Toy(after_last([1, 2, 0]))
    with caller(student, gradients=False):
        tokens = iter(student.stream(model, torch.tensor([[0]]), max_new_tokens=3, block_size=ROOMY, temperature=0.0))
        got = []
        for gradients in (True, True, False):
            student.gradients(gradients)
            got.append(next(tokens))
            as_the_caller_has_it(student, gradients, f"after token {len(got)}")
        equal(next(tokens, None), None, what="a token came after the last one")
        as_the_caller_has_it(student, False, "after the last token")
        student.forget(tokens)
        del tokens
    ran_quietly(model, "gradients set before each token")
    equal(got, [1, 2, 0])


@checks("stream")
def test_stream_after_an_exception(student):
    """a model that raises: the error reaches the caller, and gradient mode is the same as before"""
    for gradients in (True, False):
        model = Toy(after_last([1, 2, 0]), breaks_at=2)
        with caller(student, gradients=gradients):
            tokens = iter(student.stream(model, torch.tensor([[0]]), max_new_tokens=3, block_size=ROOMY, temperature=0.0))
            equal(next(tokens), 1, what="wrong token number 1")
            raises(RuntimeError, lambda t=tokens: next(t))
            as_the_caller_has_it(student, gradients, "after an exception")
            student.forget(tokens)


@checks("stream")
def test_stream_defaults(student):
    """the defaults are temperature 1, no top_k, no top_p and no EOS"""
    # One token of 1,024 holds half, no two are equal: a temperature of 1.01 draws another one in about 1 of 60 steps or more often.
    model, options = always([6.9, *(-1e-4 * i for i in range(1_023))]), {"max_new_tokens": 600, "block_size": 1}
    plain = streamed(student, model, [0], generator=student.generator(4), **options)
    equal(len(plain), 600, what="wrong number of tokens with max_new_tokens 600 and no EOS")
    defaults = {"temperature": 1.0, "top_k": None, "top_p": None, "eos_token_id": None}
    got = streamed(student, model, [0], generator=student.generator(4), **defaults, **options)
    equal(plain, got, what="the defaults give other tokens than temperature=1.0 and None for the rest, from the same generator state")
