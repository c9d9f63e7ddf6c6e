"""Hidden checks of the costs day: random models, counted again by other means (tensors on the meta device, torch's own FLOP counter)."""

import time

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from autograder.authoring import checks, close, equal, that
from autograder.checking.checks.test_costs import (
    exact,
    products,
    random_shape,
    rates_of_a_made_up_machine,
    shape,
    whole,
    whole_number,
)
from course.kit import Config


def tensors(config: Config) -> list[Tensor]:
    """Every weight tensor of the model, without memory behind it."""
    width, inner, head = config.hidden_size, config.intermediate_size, config.head_dim
    queries, keys = config.num_attention_heads * head, config.num_key_value_heads * head
    shapes: list[tuple[int, ...]] = [(config.vocab_size, width), (width,)]
    if not config.tie_word_embeddings:
        shapes.append((config.vocab_size, width))
    for _ in range(config.num_hidden_layers):
        shapes += [(width,), (queries, width), (keys, width), (keys, width), (width, queries)]
        shapes += [(width,), (inner, width), (inner, width), (width, inner)]
    return [torch.empty(s, device="meta") for s in shapes]


def counted_flops(config: Config, t: int) -> int:
    """FLOPs of every matrix product of a pass, counted by torch while the products are (not) done on the meta device."""

    def empty(*sizes: int) -> Tensor:
        return torch.empty(sizes, device="meta")

    width, inner, head = config.hidden_size, config.intermediate_size, config.head_dim
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    with FlopCounterMode(display=False) as counter:
        hidden = empty(t, width)
        for _ in range(config.num_hidden_layers):
            queries = (hidden @ empty(width, heads * head)).view(t, heads, head).transpose(0, 1)
            keys = (hidden @ empty(width, kv_heads * head)).view(t, kv_heads, head).transpose(0, 1)
            values = (hidden @ empty(width, kv_heads * head)).view(t, kv_heads, head).transpose(0, 1)
            keys, values = (x.repeat_interleave(heads // kv_heads, dim=0) for x in (keys, values))
            mixed = torch.bmm(torch.bmm(queries, keys.transpose(1, 2)), values)
            hidden = mixed.transpose(0, 1).reshape(t, heads * head) @ empty(heads * head, width)
            (hidden @ empty(width, inner)) * (hidden @ empty(width, inner)) @ empty(inner, width)
        hidden @ empty(width, config.vocab_size)
    return counter.get_total_flops()


def real(rng: torch.Generator, low: float, high: float) -> float:
    return low + (high - low) * float(torch.rand((), generator=rng, dtype=torch.float64))


@checks("param_count", weight=2)
def test_random_models_by_their_tensors(student, rng):
    """random models, tied and untied, and a large odd number of weights: the result equals the sum over all tensors"""
    for tied in (True, False, True, False):
        config = random_shape(rng, tied=tied)
        whole_number(student.param_count(config), sum(t.numel() for t in tensors(config)))
    # With all of these odd the number is odd, and float32 has no odd number of this size.
    vocab_size, width, inner, layers = (2 * whole(rng, low, 2 * low) + 1 for low in (30_000, 400, 700, 5))
    odd = shape(vocab_size, width, inner, layers, 8, 2, 32, tied=True)
    whole_number(student.param_count(odd), sum(t.numel() for t in tensors(odd)))


@checks("param_count")
def test_every_head_with_keys_of_its_own(student, rng):
    """as many key/value heads as query heads, also one layer with a single head: the number of weights is exact"""
    for tied in (False, True):
        heads = whole(rng, 2, 6)
        config = shape(whole(rng, 20, 90), 8 * heads, whole(rng, 9, 99), whole(rng, 1, 5), heads, heads, 8, tied)
        least = shape(whole(rng, 5, 9), whole(rng, 3, 9), whole(rng, 3, 9), 1, 1, 1, 2, tied)
        for each in (config, least):
            whole_number(student.param_count(each), sum(t.numel() for t in tensors(each)))


@checks("prefill_flops")
def test_random_prefills(student, rng):
    """random models and prompts: two FLOPs per weight and token"""
    for _ in range(4):
        n, t = whole(rng, 1, 10**12), whole(rng, 1, 10**5)
        exact(student.prefill_flops(n, t), n * t + n * t)
        exact(student.prefill_flops(n + 3, t), (n + 3) * (t + t))
    exact(student.prefill_flops(0, 5), 0)
    exact(student.prefill_flops(31, 0), 0)


@checks("decode_flops")
def test_random_decodes(student, rng):
    """random models: two FLOPs per weight and decode step"""
    for _ in range(4):
        n, t = whole(rng, 1, 10**12), whole(rng, 1, 10**5)
        exact(student.decode_flops(n, t), n * t + n * t)
        exact(student.decode_flops(n + 3, t), (n + 3) * (t + t))
    exact(student.decode_flops(7, 1), 14)


@checks("forward_flops", weight=2)
def test_random_models_by_torchs_counter(student, rng):
    """random models: the FLOPs equal the result of torch's FLOP counter"""
    for _ in range(4):
        config, t = random_shape(rng), whole(rng, 2, 300)
        exact(student.forward_flops(config, t), counted_flops(config, t))


@checks("forward_flops")
def test_one_token_and_a_long_text(student, rng):
    """one token, long texts, more tokens than the model accepts, no token: the FLOPs are exact"""
    least = shape(7, 5, 3, 1, 1, 1, 2, tied=False)
    for config, t in ((random_shape(rng), 1), (random_shape(rng), 5000), (random_shape(rng), 20_000), (least, 1), (least, 2)):
        exact(student.forward_flops(config, t), counted_flops(config, t), what=f"wrong for {t:,} tokens")
    exact(student.forward_flops(random_shape(rng), 0), 0)


@checks("weight_bytes")
def test_random_weights(student, rng):
    """random numbers of weights, values of many widths: the bytes are exact"""
    for _ in range(3):
        n = whole(rng, 1, 10**12)
        for size in (0.5, 0.5625, 0.625, 1, 2, 4, 8):  # 4.5 and 5 bits: 4-bit blocks with their scales
            exact(student.weight_bytes(n, size), n * size, what=f"wrong for {size} bytes a value")
    exact(student.weight_bytes(7, 0.5), 3.5)


@checks("kv_cache_bytes", weight=2)
def test_random_caches_by_their_tensors(student, rng):
    """random models and dtypes, long texts: the bytes equal those of tensors of the same shape"""
    for dtype in (torch.float16, torch.float32, torch.float64, torch.int8):
        config, tokens, batch = random_shape(rng), whole(rng, 1, 5000), whole(rng, 2, 9)
        one = torch.empty((batch, config.num_key_value_heads, tokens, config.head_dim), dtype=dtype, device="meta")
        exact(student.kv_cache_bytes(config, tokens, batch, dtype.itemsize), 2 * config.num_hidden_layers * one.nbytes)
    # Odd factors make a product of more digits than float32 has.
    odd = shape(50, 99, 70, 11, 5, 5, 33, tied=True)
    tokens = 2 * whole(rng, 50_000, 90_000) + 1
    one = torch.empty((3, 5, tokens, 33), dtype=torch.int16, device="meta")
    exact(student.kv_cache_bytes(odd, tokens, 3, 2), 22 * one.nbytes, what="wrong for three long texts")


@checks("kv_cache_bytes")
def test_half_a_byte(student, rng):
    """a cache of 4 or 4.5 bits per value, a text longer than the model's context, no sequence: the bytes are exact"""
    config, tokens = random_shape(rng), 2 * whole(rng, 1, 500)
    per_token = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim
    exact(student.kv_cache_bytes(config, 10**6, 1, 2), 2 * per_token * 10**6, what="wrong for a million tokens")
    for size in (0.5, 0.5625):
        exact(student.kv_cache_bytes(config, tokens, 1, size), per_token * tokens * size, what=f"wrong for {size} bytes a value")
    exact(student.kv_cache_bytes(config, tokens, 0, 2), 0, what="wrong for no sequence")
    exact(student.kv_cache_bytes(config, 0, 3, 2), 0, what="wrong for no token")
    least = shape(7, 5, 3, 1, 1, 1, 2, tied=False)
    exact(student.kv_cache_bytes(least, 1, 1, 0.5625), 2.25, what="wrong for four values in 4.5 bits each")


@checks("arithmetic_intensity")
def test_random_intensities(student, rng):
    """random work with less or more than one FLOP per byte: the ratio is right"""
    for low, high in ((0.01, 0.9), (1.1, 20.0), (20.0, 500.0), (5e3, 9e4)):
        intensity, num_bytes = real(rng, low, high), real(rng, 1.0, 1e12)
        close(student.arithmetic_intensity(intensity * num_bytes, num_bytes), intensity, rtol=1e-9)
    close(student.arithmetic_intensity(1.5, 0.75), 2.0, rtol=1e-9)
    close(student.arithmetic_intensity(0.25, 0.5), 0.5, rtol=1e-9)


@checks("roofline_seconds", weight=2)
def test_random_work_on_random_machines(student, rng):
    """random work on random machines, on either side of the balance and on the balance: the time is right"""
    for side in (0.02, 0.5, 0.99, 1.0, 1.01, 2.0, 50.0):
        bandwidth, seconds = real(rng, 1e9, 4e12), real(rng, 1e-4, 10.0)
        peak = bandwidth * real(rng, 2.0, 300.0)
        flops = seconds * peak * min(side, 1.0)
        num_bytes = seconds * bandwidth / max(side, 1.0)
        close(student.roofline_seconds(flops, num_bytes, peak, bandwidth), seconds, rtol=1e-9)
    # An H100's balance is 295.2 FLOPs a byte: 295.1 are on the memory's side. And a kilobyte takes a third of a nanosecond.
    peak, bandwidth = 989e12, 3.35e12
    for flops, num_bytes, want in ((295.1e9, 1e9, 1e9 / bandwidth), (295.4e9, 1e9, 295.4e9 / peak), (1.0, 1000.0, 1000 / bandwidth)):
        close(student.roofline_seconds(flops, num_bytes, peak, bandwidth), want, atol=0.0, rtol=1e-6)


@checks("roofline_seconds")
def test_nothing_to_calculate(student, rng):
    """a copy without any FLOPs, on machines with a balance above and below 1: the bytes decide the time"""
    for peak in (1e9, 1e13):
        num_bytes, bandwidth = real(rng, 1.0, 1e12), real(rng, 1e10, 1e12)
        for none in (0, 0.0):
            close(student.roofline_seconds(none, num_bytes, peak, bandwidth), num_bytes / bandwidth, atol=0.0, rtol=1e-9)


@checks("naive_positions", weight=2)
def test_random_naive(student, rng):
    """random lengths, an empty prompt, no new token: the result equals the sum over all steps"""
    for _ in range(5):
        t0, g = whole(rng, 1, 900), whole(rng, 2, 300)
        whole_number(student.naive_positions(t0, g), sum(range(t0, t0 + g)))
    whole_number(student.naive_positions(2_000, 200), 419_900)
    whole_number(student.naive_positions(41, 0), 0, "wrong number of positions for no token")
    whole_number(student.naive_positions(0, 5), 10, "wrong number of positions without a prompt")
    whole_number(student.naive_positions(1, 100_000), 5_000_050_000)


@checks("cached_positions", weight=2)
def test_random_cached(student, rng):
    """random lengths, no new token: the result equals a count step by step"""
    for _ in range(5):
        t0, g = whole(rng, 1, 900), whole(rng, 1, 300)
        fed = t0  # the prefill, which gives the first token
        for _ in range(g - 1):
            fed += 1
        whole_number(student.cached_positions(t0, g), fed)
    whole_number(student.cached_positions(2_000, 300), 2_299)
    whole_number(student.cached_positions(1, 100_000), 100_000)
    whole_number(student.cached_positions(41, 0), 0, "wrong number of positions for no token")


@checks("measure_machine", weight=2)
def test_all_rounds_fit_and_fill_the_call(student):
    """at the reported rates, all rounds together take no longer than the call, and not a vanishing part of the call"""
    size, num_bytes, rounds = 384, 2**24, 24
    start = time.perf_counter()
    machine = student.measure_machine(size, num_bytes, rounds)
    call_seconds = time.perf_counter() - start
    for work, name in ((2 * size**3, "peak_flops"), (num_bytes, "bandwidth")):
        implied = rounds * work / getattr(machine, name)
        that(
            implied <= 1.01 * call_seconds,
            f"{name} is too low: {rounds} rounds at that rate would have taken longer than the whole call",
            expected=f"at most {call_seconds:.3g} s",
            got=f"{implied:.3g} s",
        )
        # The right version comes to a fifth or so; a busy machine may make it a hundredth. A rate off by a thousand is far below.
        that(
            implied >= call_seconds / 1000,
            f"{name} is too high: {rounds} rounds at that rate are over in no time",
            expected=f"at least {call_seconds / 1000:.3g} s",
            got=f"{implied:.3g} s",
        )


@checks("measure_machine", weight=4)
def test_other_made_up_machines(student, rng):
    """made-up machines of other rates, with other sizes and rounds: the two rates are right"""
    for size, num_bytes, rounds, peak_flops, bandwidth in ((192, 2**20, 5, 5e10, 4e9), (320, 2**23, 6, 9e11, 6e10)):
        factor = real(rng, 1.0, 2.0)
        rates_of_a_made_up_machine(
            student, size=size, num_bytes=num_bytes, rounds=rounds, peak_flops=factor * peak_flops, bandwidth=factor * bandwidth
        )


@checks("measure_machine")
def test_the_work_that_is_measured(student):
    """every round multiplies matrices of the given size"""
    products(student, rounds=7, of=96, size=96, num_bytes=2**12)


@checks("measure_machine")
def test_what_is_measured_where_nothing_is_said(student):
    """size is 1,024, num_bytes 2^28 and rounds 5 by default"""
    products(student, rounds=1, of=1024, within=0.002, num_bytes=2**12)
    products(student, rounds=5, of=64, size=64, num_bytes=2**12, default=True)
    with student.counting(python=True) as work:
        student.measure_machine(size=64, rounds=1)
    if work.flops > 0:
        made = max(work.largest_bytes, work.python_bytes)  # a product of torch's may go with a sum of numpy's
        that(2**28 <= made <= 1.1 * 2**28, "wrong amount of memory", expected=f"{2**28:,} bytes", got=f"{made:,}")
    else:
        numpy_measures_as_much(student)


def numpy_measures_as_much(student) -> None:
    """Check how much memory numpy's products and sums take and how often the clock is read: their work is not counted."""
    small = {"size": 64, "num_bytes": 2**12, "rounds": 1}
    for name, due in (("size", 2 * 4 * 1024**2), ("num_bytes", 2**28)):  # two matrices, and now and then their product
        with student.counting(python=True) as work:
            student.measure_machine(**{key: value for key, value in small.items() if key != name})
        that(
            due <= work.python_bytes <= 1.6 * due + 2**20, f"wrong amount of memory where no {name} is given",
            expected=f"{due:,} bytes", got=f"{work.python_bytes:,}",
        )  # fmt: skip
    reads = []
    for rounds in ({}, {"rounds": 5}):
        with student.simulated_machine(peak_flops=1e11, bandwidth=1e10) as work:
            student.measure_machine(size=64, num_bytes=2**12, **rounds)
        reads.append(work.clock_reads)
    equal(reads[0], reads[1], what="the clock is read so often where no rounds are given")


@checks("measure_machine")
def test_which_rate_is_which(student):
    """tiny matrices give a lower peak_flops, and a sum over little memory gives a lower bandwidth"""
    # Starting an operation takes a microsecond: 1,024 FLOPs in it are 1e9 a second, where 16 MiB come at ten times that and more.
    small_product, small_sum = student.measure_machine(8, 2**24, 9), student.measure_machine(384, 2**10, 9)
    for name, rates in (("peak_flops", (small_product, small_sum)), ("bandwidth", (small_sum, small_product))):
        low, high = (getattr(machine, name) for machine in rates)
        what = f"{name} does not grow with the work that it is measured by"
        that(low < high, what, expected=f"less than {high:.3g}", got=f"{low:.3g}")


@checks("measure_machine")
def test_measured_anew(student):
    """every call measures: three calls with different sizes do not give identical rates"""
    machines = [student.measure_machine(size, num_bytes, 3) for size, num_bytes in ((64, 2**18), (128, 2**20), (192, 2**21))]
    rates = {(machine.peak_flops, machine.bandwidth) for machine in machines}
    that(all(peak > 0 and bandwidth > 0 for peak, bandwidth in rates), "a rate is not a positive number")
    # Three different amounts of work: that both clocks agree to the last digit three times does not happen.
    that(len(rates) > 1, "three measurements agree to the last digit")
