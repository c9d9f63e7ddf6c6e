"""Hidden checks of the loop: fresh prompts and tables, and rules in combination."""

from contextlib import suppress

import torch

from autograder.authoring import checks, equal, raises, that
from autograder.base.wording import counted
from autograder.checking.checks.test_generation import (
    FOUR,
    ROOMY,
    Toy,
    after_all,
    after_last,
    always,
    as_the_caller_has_it,
    caller,
    filled,
    frequencies,
    generated,
    in_two_modes,
    modes_are_left,
    probabilities,
    ran_quietly,
    runs_on_a_gpu,
    streamed,
    unroll,
)
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.randomness import draws_from_the_global_state, ends_where_drawn
from autograder.sandbox.protocol.worker_errors import StudentRaised


def prompts(rng: torch.Generator, rows: int, length: int, vocab: int) -> torch.Tensor:
    return torch.randint(vocab, (rows, length), generator=rng)


def integer(rng: torch.Generator, low: int, high: int) -> int:
    return int(torch.randint(low, high, (), generator=rng))


# ---- generate ------------------------------------------------------------------------------------------------------


@checks("generate", weight=2)
def test_random_windows(student, rng):
    """random prompts, shorter and longer than block_size: no call gets more than the last block_size tokens"""
    for length, block_size in ((1, 1), (4, integer(rng, 3, 8)), (11, integer(rng, 3, 8)), (6, 1)):
        vocab = 97
        idx = prompts(rng, 3, length, vocab)
        model = Toy(after_all(vocab))
        got = generated(student, model, idx, max_new_tokens=9, block_size=block_size, temperature=0.0)
        want = [unroll(after_all(vocab), row, 9, block_size) for row in idx.tolist()]
        equal(got, torch.tensor(want))
        lengths = [min(length + i, block_size) for i in range(9)]
        equal(model.lengths, lengths, what="wrong number of calls, or of tokens in a call")


@checks("generate", weight=2)
def test_random_ends(student, rng):
    """eight rows that end at random steps: an ended row is filled with EOS, and the loop stops when all have ended"""
    vocab = 9
    for _ in range(3):
        eos = integer(rng, 0, vocab)
        idx = prompts(rng, 8, 4, vocab)
        model = Toy(after_all(vocab))
        got = generated(student, model, idx, max_new_tokens=25, block_size=6, temperature=0.0, eos_token_id=eos)
        rows = [unroll(after_all(vocab), row, 25, 6, eos) for row in idx.tolist()]
        equal(got, filled(rows, eos))
        that(model.calls <= max(map(len, rows)), "more calls than steps", expected=max(map(len, rows)), got=model.calls)


@checks("generate")
def test_last_row_ends_first(student):
    """rows that end at the first new token or never, and a prompt with EOS in the middle: the new tokens are right"""
    model = Toy(after_last([1, 2, 1, 0, 3]))
    idx = torch.tensor([[1], [3], [4]])  # 1, 2, 1, 2, ... without end; 3, 0; 4, 3, 0
    got = generated(student, model, idx, max_new_tokens=6, block_size=ROOMY, temperature=0.0, eos_token_id=0)
    equal(got, torch.tensor([[2, 1, 2, 1, 2, 1], [0] * 6, [3, 0, 0, 0, 0, 0]]))
    got = generated(student, model, idx[:1], max_new_tokens=540, block_size=2, temperature=0.0, eos_token_id=0)
    equal(got, torch.tensor([[2, 1] * 270]), what="wrong tokens of a row that never ends")
    prompt = [4, 0, 7, 0, 2, 9]
    got = generated(student, Toy(after_all(12)), torch.tensor([prompt]), max_new_tokens=5, block_size=5, temperature=0.0, eos_token_id=0)
    equal(got, torch.tensor([unroll(after_all(12), prompt, 5, 5, 0)]), what="wrong tokens after a prompt with EOS in it")


@checks("generate")
def test_end_at_the_limit(student):
    """EOS at the limit, one step after the limit, or a limit of 0: the tokens are right, and gradient mode is as before"""
    for steps, want in ((3, [[2, 3, 0]]), (2, [[2, 3]]), (0, [[]])):
        for gradients in (True, False):
            model, idx = Toy(after_last([1, 2, 3, 0])), torch.tensor([[0, 1]])
            with caller(student, gradients=gradients):
                got = generated(student, model, idx, max_new_tokens=steps, block_size=ROOMY, temperature=0.0, eos_token_id=0)
                as_the_caller_has_it(student, gradients, f"after max_new_tokens {steps}")
            equal(got, torch.tensor(want, dtype=torch.int64))
            equal(model.calls, steps, what="wrong number of calls")


@checks("generate")
def test_one_call_a_step(student, rng):
    """the model is called once per step for the whole batch, without recording gradients"""
    idx = prompts(rng, 5, 3, 10)
    model = Toy(after_all(10))
    got = generated(student, model, idx, max_new_tokens=7, block_size=ROOMY, temperature=0.0)
    equal(got, torch.tensor([unroll(after_all(10), row, 7, ROOMY) for row in idx.tolist()]))
    that(
        model.calls <= 7,
        "more calls of the model than steps",
        expected=7,
        got=model.calls,
    )
    ran_quietly(model, "five rows")


@checks("generate")
def test_three_hundred_rows_end_together(student):
    """three hundred rows that end at the same step share one call of the model per step"""
    model = Toy(after_last([1, 2, 0]))
    idx = torch.zeros(300, 1, dtype=torch.int64)
    got = generated(student, model, idx, max_new_tokens=6, block_size=ROOMY, temperature=0.0, eos_token_id=2)
    equal(got, torch.tensor([[1, 2]] * 300))
    equal(model.calls, 2, what="wrong number of calls: one a step is expected, with all rows")


@checks("generate")
def test_a_vocabulary_of_fifty_thousand(student):
    """tokens at the end of a large vocabulary, EOS among them: the generated tokens are right"""
    end = 49_999
    following = [1] * 50_000
    following[7], following[40_000] = 40_000, end
    idx = torch.tensor([[7], [40_000]])
    got = generated(student, Toy(after_last(following)), idx, max_new_tokens=4, block_size=ROOMY, temperature=0.0, eos_token_id=end)
    equal(got, torch.tensor([[40_000, end], [end, end]]))


@checks("generate")
def test_a_large_top_k(student, rng):
    """with a top_k of 120, only the 120 best tokens are drawn"""
    # Of 4,000 draws over 120 nearly equal tokens none is among the last 70 with a probability below 1e-1000.
    model = Toy(always([-1e-3 * i for i in range(200)]))
    idx, generator = torch.zeros(4_000, 1, dtype=torch.int64), student.generator(integer(rng, 0, 2**31))
    got = generated(student, model, idx, max_new_tokens=1, block_size=ROOMY, top_k=120, generator=generator)
    equal(tuple(got.shape), (4_000, 1), what="wrong shape of the new tokens")
    that(50 <= int(got.max()) < 120, "wrong range of the tokens that 4,000 draws with top_k 120 gave", got=(int(got.min()), int(got.max())))


@checks("generate")
def test_logits_of_any_precision(student):
    """a model in half precision or float64, greedy and drawn, with a transposed prompt: the tokens are right"""
    logits_of, idx = after_all(10), torch.tensor([[3, 9], [1, 2], [4, 6]]).t()
    want = torch.tensor([unroll(logits_of, row, 3, ROOMY) for row in idx.tolist()])
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        for temperature in (0.0, 1.0):  # the chance of another token than the sure one is below 1e-20
            model = Toy(lambda ids, dtype=dtype: logits_of(ids).to(dtype))
            got = generated(student, model, idx, max_new_tokens=3, block_size=ROOMY, temperature=temperature)
            equal(got, want, what=f"wrong tokens of a model in {dtype} at temperature {temperature}")


@checks("generate")
def test_random_settings(student, rng):
    """drawn tokens have the expected frequencies at a random temperature, with top_k and with top_p"""
    # False alarm: at most 1e-10 for each setting (see the top of the visible checks).
    idx = torch.zeros(4_000, 2, dtype=torch.int64)
    tau = 0.4 + 2 * float(torch.rand((), generator=rng))
    two = [*probabilities(FOUR[:2], tau), 0.0, 0.0]
    flat = probabilities(FOUR, 4.0)  # 0.355, 0.277, 0.215, 0.153: three tokens reach 0.7, at tau 1 two do
    three = [*(p / sum(flat[:3]) for p in flat[:3]), 0.0]
    for options, want in (
        ({"temperature": tau}, probabilities(FOUR, tau)),
        ({"temperature": tau, "top_k": 1_000}, probabilities(FOUR, tau)),  # more than there are keeps all
        ({"temperature": tau, "top_k": 2}, two),
        ({"temperature": 4.0, "top_p": 0.7}, three),
        ({"temperature": 1.0, "top_k": 2, "top_p": 0.7}, [1.0, 0.0, 0.0, 0.0]),
        ({"temperature": 4.0, "top_k": 3, "top_p": 0.7}, [*(p / sum(flat[:2]) for p in flat[:2]), 0.0, 0.0]),  # of all four, three
    ):
        generator = student.generator(integer(rng, 0, 2**31))
        got = generated(student, Toy(always(FOUR)), idx, max_new_tokens=1, block_size=ROOMY, generator=generator, **options)
        equal(tuple(got.shape), (4_000, 1), what="wrong shape of the new tokens")
        frequencies(got[:, 0], want)
    got = generated(student, Toy(always([0.0] * 4)), idx[:400], max_new_tokens=1, block_size=ROOMY, top_p=0.5)
    equal(len(got.unique()), 2, what="wrong number of different tokens in 400 draws over four equal ones, with top_p 0.5")


@checks("generate")
def test_settings_that_are_not_given(student):
    """without settings the tokens are the same as with temperature 1, top_k None and top_p None"""
    # One token of 1,500 holds half, no two are equal: of 2,000 rows at a temperature of 1.01, about 36 draw another token.
    model, idx = Toy(always([*(-2e-4 * i for i in range(1_499)), 7.2])), torch.zeros(2_000, 1, dtype=torch.int64)
    options = {"max_new_tokens": 1, "block_size": 3}
    plain = generated(student, model, idx, generator=student.generator(12), **options)
    got = generated(student, model, idx, generator=student.generator(12), temperature=1.0, top_k=None, top_p=None, **options)
    equal(plain, got, what="other tokens without settings than with temperature 1.0, top_k None and top_p None, from one generator state")


@checks("generate")
def test_meta_device_in_three_rows(student):
    """three rows on the meta device or an emulated GPU, with and without EOS: every new tensor is on that device"""
    for eos in (2, None):
        options = {"max_new_tokens": 3, "block_size": 1, "temperature": 0.0, "eos_token_id": eos}
        on_one_device(student.generate.on_meta(Toy(after_last([3, 0, 1, 2])), torch.tensor([[0, 1], [1, 1], [3, 0]]), **options))
        runs_on_a_gpu(student, 2, 5, torch.tensor([[4, 1], [1, 1], [3, 2]]), max_new_tokens=4, eos_token_id=eos)


@checks("generate")
def test_a_module_in_training(student):
    """the parts of a torch module keep their training or evaluation modes, also if rows end at different steps"""
    for training in (False, True):
        model = in_two_modes(student, training=training)
        got = generated(student, model, torch.tensor([[0, 4], [0, 2]]), max_new_tokens=3, block_size=1, temperature=0.0, eos_token_id=2)
        equal(got, torch.tensor([[4, 4, 4], [2, 2, 2]]))
        modes_are_left(model, training, "after three tokens")


A_HAIR = [8.0, 7.9, 8.001, 8.0]
"""In 16 bits all but the second are the same number."""


@checks("generate")
def test_best_by_a_hair(student):
    """logits are not rounded: a slightly better token is chosen, greedily and at a very low temperature"""
    # At temperature 4e-5 the two runners-up together have exp(-25) times 2 of the best one's probability: 3e-11 a draw.
    idx = torch.zeros(5, 1, dtype=torch.int64)
    for temperature in (0.0, 4e-5):
        got = generated(student, Toy(always(A_HAIR)), idx, max_new_tokens=4, block_size=ROOMY, temperature=temperature)
        equal(got, torch.full((5, 4), 2), what=f"wrong tokens at temperature {temperature}: the best logit is ahead by a thousandth")


@checks("generate")
def test_steps_are_independent(student, rng):
    """the draws of two steps are independent"""
    # False alarm: at most 1e-10. Of two independent draws over 4 equal tokens a quarter are the same.
    idx = torch.zeros(4_000, 1, dtype=torch.int64)
    got = generated(
        student, Toy(always([0.0] * 4)), idx, max_new_tokens=2, block_size=ROOMY, generator=student.generator(integer(rng, 0, 2**31))
    )
    equal(tuple(got.shape), (4_000, 2), what="wrong shape of the new tokens")
    frequencies((got[:, 1] - got[:, 0]) % 4, [0.25] * 4)


@checks("generate")
def test_random_generators(student, rng):
    """another seed gives other tokens; without a generator each run differs; greedy decoding draws nothing"""
    # Two unrelated runs of 64 tokens over 8 equal ones agree with probability 2 ** -192.
    idx = torch.zeros(2, 1, dtype=torch.int64)
    options = {"max_new_tokens": 32, "block_size": 3}
    model = Toy(always([0.0] * 8))
    one, other = torch.randint(2**31, (2,), generator=rng).tolist()
    first = generated(student, model, idx, generator=student.generator(one), _rng_unchanged=True, **options)
    again = generated(student, model, idx, generator=student.generator(one), **options)
    equal(again, first, what="two generators in the same state gave different tokens")
    second = generated(student, model, idx, generator=student.generator(other), **options)
    that(not torch.equal(first, second), "another seed gave the same tokens")
    generator = student.generator(one)
    twice = [generated(student, model, idx, generator=generator, **options) for _ in range(2)]
    that(not torch.equal(*twice), "two calls, one after the other with one generator, gave the same tokens")
    loose = [generated(student, model, idx, **options) for _ in range(2)]
    that(
        not torch.equal(*loose),
        "two runs without a generator gave the same tokens",
        cause="Without a generator, draw from torch's global state, unseeded.",
    )
    draws_from_the_global_state(lambda **watched: student.generate(model, idx, **options, **watched))
    generator = student.generator(one)
    before = generator.get_state()
    generated(student, model, idx, temperature=0.0, generator=generator, _rng_unchanged=True, **options)
    equal(generator.get_state(), before, what="greedy moved the generator")


@checks("generate")
def test_drawn_ends(student, rng):
    """drawn tokens: a row is filled with EOS after its first EOS, and the loop stops when all rows have ended"""
    # EOS comes with 1/4 in each step: all 6 rows have ended by step 120 but for a probability of 6 * 0.75 ** 120 < 1e-14.
    idx = prompts(rng, 6, 2, 4)
    model = Toy(always([0.0] * 4))
    eos = integer(rng, 0, 4)
    got = generated(
        student, model, idx, max_new_tokens=120, block_size=8, eos_token_id=eos, generator=student.generator(integer(rng, 0, 2**31))
    )
    steps = ends_where_drawn(got, eos)
    that(model.calls <= steps, "more calls than steps", expected=steps, got=model.calls)


@checks("generate")
def test_after_an_error_of_the_loop_itself(student):
    """gradient mode is as before after any error, of the sampler or the model; an error of the model reaches the caller"""
    for options, logits_of in (({"top_k": 0}, always(FOUR)), ({"top_p": -1.0}, always(FOUR)), ({}, lambda ids: None)):
        for gradients in (True, False):
            with caller(student, gradients=gradients):
                with suppress(StudentRaised):  # of which kind is not said
                    student.generate(Toy(logits_of), torch.tensor([[0]]), max_new_tokens=2, block_size=ROOMY, **options)
                as_the_caller_has_it(student, gradients, "after an exception")
    model = Toy(after_last([1, 2, 3, 0]), breaks_at=3)
    raises(RuntimeError, lambda: student.generate(model, torch.tensor([[1]]), max_new_tokens=5, block_size=ROOMY, temperature=0.0))
    greedy = generated(student, Toy(always(FOUR)), torch.tensor([[3]]), max_new_tokens=1, block_size=ROOMY, top_k=1)
    equal(greedy, torch.tensor([[0]]))


@checks("generate")
def test_a_long_prompt(student):
    """a prompt of 9,000 tokens is returned whole, followed by the new tokens"""
    idx = torch.arange(9_000)[None] % 10
    got = generated(student, Toy(after_all(10)), idx, max_new_tokens=3, block_size=4, temperature=0.0)
    equal(got, torch.tensor([unroll(after_all(10), idx[0].tolist(), 3, 4)]))


@checks("generate")
def test_an_answer_stays_as_it_is(student):
    """two calls, each with two rows of the same shape: the first result is unchanged after the second call"""
    both = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [7, 8]])
    model, options = after_all(10), {"max_new_tokens": 4, "block_size": ROOMY, "temperature": 0.0}
    for idx, got in zip(both, student.generate.again(*([model, idx] for idx in both), **options), strict=True):
        want = [row + unroll(model, row, 4, ROOMY) for row in idx.tolist()]
        equal(got, torch.tensor(want), what=f"wrong ids after {idx.tolist()}, looked at when both answers were there")


# ---- stream --------------------------------------------------------------------------------------------------------


@checks("stream", weight=2)
def test_stream_random(student, rng):
    """random prompts, block sizes and EOS: the tokens and the length of every call are right"""
    vocab = 11
    for length in (1, 5, 9):
        block_size, eos = integer(rng, 2, 8), integer(rng, 0, vocab)
        prompt = prompts(rng, 1, length, vocab)[0].tolist()
        model = Toy(after_all(vocab))
        got = streamed(student, model, prompt, max_new_tokens=15, block_size=block_size, temperature=0.0, eos_token_id=eos)
        want = unroll(after_all(vocab), prompt, 15, block_size, eos)
        equal(got, want)
        equal(
            model.lengths,
            [min(length + i, block_size) for i in range(len(want))],
            what="wrong number of calls, or of tokens in a call",
        )


@checks("stream")
def test_stream_settings(student, rng):
    """temperature, top_k, top_p and the generator reach the sampler"""
    options = {"max_new_tokens": 40, "block_size": 4}
    row = [0.0, 0.3, 0.2, 0.1]  # greedy takes 1; a draw from all of them takes only 1 with probability below 1e-18
    for best in ({"temperature": 0.0}, {"top_k": 1, "temperature": 1.5}, {"top_p": 0.05}):
        got = streamed(student, Toy(always(row)), [0], generator=student.generator(integer(rng, 0, 2**31)), **best, **options)
        equal(got, [1] * 40, what=f"wrong tokens with {best}")
    # At temperature 50 token 1 has 0.332: forty in a row with probability below 1e-18. At the default 1 it has 1 - 3 exp(-20).
    steep = [0.0, 20.0, 0.0, 0.0]
    hot = streamed(student, Toy(always(steep)), [0], temperature=50.0, generator=student.generator(integer(rng, 0, 2**31)), **options)
    that(len(set(hot)) > 1, "at temperature 50 every token was the same")
    hair = streamed(student, Toy(always(A_HAIR)), [0], temperature=4e-5, **options)
    equal(hair, [2] * 40, what="wrong tokens at temperature 4e-5: the best logit is ahead by a thousandth")
    # Of four tokens three are kept, of whose mass two reach 0.7 (0.355, 0.277, 0.215, 0.153 at temperature 4): 0.56 and 0.44.
    # Either of them is missing among forty with probability below 2e-10.
    both = streamed(student, Toy(always(FOUR)), [0], temperature=4.0, top_k=3, top_p=0.7, **options)
    equal(sorted(set(both)), [0, 1], what="wrong tokens came out at temperature 4, top_k 3 and top_p 0.7")
    half = streamed(student, Toy(always([0.0] * 4)), [0], top_p=0.5, **options)  # but one of two in forty: 2e-12
    equal(len(set(half)), 2, what="wrong number of different tokens in 40 draws over four equal ones, with top_p 0.5")
    loose = [streamed(student, Toy(always([0.0] * 8)), [0], **options) for _ in range(2)]
    that(
        loose[0] != loose[1],
        "two streams without a generator gave the same tokens",
        cause="Without a generator, draw from torch's global state.",
    )


@checks("stream")
def test_stream_of_settings_that_are_not_given(student):
    """without settings the tokens are the same as with temperature 1, top_k None and top_p None"""
    # One token of 20,000 holds half, no two are equal: a temperature of 1.01 draws another token in 1 of 40 steps.
    model, options = always([9.9, *(-1e-5 * i for i in range(19_999))]), {"max_new_tokens": 150, "block_size": 2}
    plain = streamed(student, model, [3], generator=student.generator(8), **options)
    got = streamed(student, model, [3], generator=student.generator(8), temperature=1.0, top_k=None, top_p=None, **options)
    equal(plain, got, what="other tokens without settings than with temperature 1.0, top_k None and top_p None, from one generator state")


@checks("stream")
def test_stream_follows_its_generator(student, rng):
    """an equal seed gives the tokens of generate, up to a drawn EOS; another seed gives other tokens"""
    seed, other = torch.randint(2**31, (2,), generator=rng).tolist()
    options = {"max_new_tokens": 40, "block_size": 7}
    uniform = always([0.0] * 16)
    one, two = (streamed(student, Toy(uniform), [1, 2], generator=student.generator(s), **options) for s in (seed, other))
    that(one != two, "another seed gave the same tokens")
    eos = one[20]  # drawn for certain with this seed, at the 21st step or before
    whole = generated(student, Toy(uniform), torch.tensor([[1, 2]]), generator=student.generator(seed), eos_token_id=eos, **options)[
        0
    ].tolist()
    got = streamed(student, Toy(uniform), [1, 2], generator=student.generator(seed), eos_token_id=eos, **options)
    equal(got, whole, what="not the tokens of generate")
    equal(
        got,
        one[: one.index(eos) + 1],
        what="an eos_token_id changed which tokens were drawn",
    )
    generator = student.generator(other)
    again, more = (streamed(student, Toy(uniform), [1, 2], generator=generator, **options) for _ in range(2))
    equal(again, two, what="two generators in the same state gave different tokens")
    that(more != two, "the next stream from the same generator gave the tokens of the first")


@checks("stream")
def test_two_streams_at_once(student):
    """two streams read in turn do not disturb each other, and the model is called once per token"""
    options = {"max_new_tokens": 5, "block_size": ROOMY, "temperature": 0.0}
    models = [Toy(after_all(10)), Toy(after_all(10))]
    streams = [iter(student.stream(m, torch.tensor([p]), **options)) for m, p in zip(models, ([1, 2], [3]), strict=True)]
    equal([m.calls for m in models], [0, 0], what="wrong number of calls before the first token is asked for")
    pairs = []
    for count in range(1, 6):
        pairs.append((next(streams[0]), next(streams[1])))
        equal([m.calls for m in models], [count, count], what=f"wrong number of calls after {counted(count, 'token')} of each stream")
    equal([p[0] for p in pairs], unroll(after_all(10), [1, 2], 5, ROOMY))
    equal([p[1] for p in pairs], unroll(after_all(10), [3], 5, ROOMY))


@checks("stream")
def test_two_streams_of_one_prompt(student):
    """a second stream of the same ids gives the same tokens: the first stream does not write into the ids"""
    for prompt in ([3, 1, 4, 1], [3, 1, 4, 1, 5, 9]):  # the second fills the window
        options, model, idx = {"max_new_tokens": 5, "block_size": 6, "temperature": 0.0}, Toy(after_all(10)), torch.tensor([prompt])
        first, second = (iter(made) for made in student.stream.again([model, idx], [model, idx], **options))
        want = unroll(after_all(10), prompt, 5, 6)
        equal([next(first) for _ in range(3)], want[:3])
        equal(list(second), want, what=f"wrong tokens of the second stream of {prompt}, when the first had given three")
        equal(list(first), want[3:], what=f"wrong tokens of the first stream of {prompt}, when the second had ended")


@checks("stream")
def test_stream_ends_at_the_limit(student):
    """max_new_tokens before, at or after EOS, or 0: the tokens and the number of calls are right"""
    for steps, want in ((3, [2, 3, 0]), (8, [2, 3, 0]), (2, [2, 3]), (1, [2]), (0, [])):
        model = Toy(after_last([1, 2, 3, 0]))
        got = streamed(student, model, [0, 1], max_new_tokens=steps, block_size=ROOMY, temperature=0.0, eos_token_id=0)
        equal(got, want)
        equal(model.calls, len(want), what="wrong number of calls")


@checks("stream")
def test_stream_of_a_vocabulary_of_fifty_thousand(student):
    """tokens at the end of a large vocabulary, EOS among them: the streamed tokens are right"""
    following = [1] * 50_000
    following[7], following[40_000] = 40_000, 49_999
    model = Toy(after_last(following))
    got = streamed(student, model, [7], max_new_tokens=5, block_size=ROOMY, temperature=0.0, eos_token_id=49_999)
    equal(got, [40_000, 49_999])
    equal(model.calls, 2, what="wrong number of calls")


@checks("stream")
def test_stream_leaves_no_trace_under_any_setting(student):
    """with every setting, gradient mode is as the caller set it, between two tokens and after an error"""
    for options in ({"generator": 1}, {"top_k": 1}, {"top_p": 0.05}, {"eos_token_id": 0}, {"temperature": 0.0}, {"block_size": 1}):
        for gradients in (True, False):
            model = Toy(after_last([1, 2, 0]))
            given = {"block_size": ROOMY, **options}
            if "generator" in given:
                given["generator"] = student.generator(given["generator"])
            with caller(student, gradients=gradients):
                tokens = iter(student.stream(model, torch.tensor([[0]]), max_new_tokens=7, **given))
                for count, want in enumerate((1, 2, 0), start=1):
                    now = gradients if count < 3 else not gradients  # the caller switches it before the third
                    student.gradients(now)
                    equal(next(tokens), want, what=f"wrong token number {count} with {sorted(options)}")
                    as_the_caller_has_it(student, now, f"after token {count} ({', '.join(options)} given)")
                ran_quietly(model, f"{', '.join(options)} given")
                student.forget(tokens)
                del tokens
                as_the_caller_has_it(student, not gradients, f"after the stream was dropped ({', '.join(options)} given)")
                equal(model.calls, 3, what="wrong number of calls for three tokens of a stream that was then dropped")
    for options, logits_of in (({"top_k": 0}, always(FOUR)), ({}, lambda ids: None)):
        for gradients in (True, False):
            with caller(student, gradients=gradients):
                with suppress(StudentRaised):  # of which kind is not said
                    next(iter(student.stream(Toy(logits_of), torch.tensor([[0]]), max_new_tokens=2, block_size=ROOMY, **options)))
                as_the_caller_has_it(student, gradients, "after an exception")
    broken = iter(student.stream(Toy(after_last([1, 2, 0]), breaks_at=1), torch.tensor([[0]]), max_new_tokens=4, block_size=ROOMY))
    raises(RuntimeError, lambda: next(broken))


@checks("stream")
def test_stream_of_a_module_in_training(student):
    """the parts of a torch module keep their training or evaluation modes while tokens are streamed"""
    for training in (False, True):
        model = in_two_modes(student, training=training)
        tokens = iter(student.stream(model, torch.tensor([[3]]), max_new_tokens=4, block_size=2, temperature=0.0))
        equal([next(tokens), next(tokens)], [3, 3])
        modes_are_left(model, training, "after two tokens of four")
        equal(list(tokens), [3, 3])
        modes_are_left(model, training, "after four tokens of four")
