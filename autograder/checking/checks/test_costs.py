"""Visible checks of the costs day. Counts are exact; `measure_machine` is compared with nothing but its own call."""

import math
import time

import torch

from autograder.authoring import checks, close, equal, that
from autograder.sandbox.measure.op_counter import Work
from autograder.sandbox.measure.simulated_machine import TICK_SECONDS
from course.kit import Config

N_7B = 7_000_000_000


def exact(got, want, what: str | None = None, **evidence) -> None:
    """FLOPs and bytes may come as int or float, but none may be missing."""
    close(got, want, atol=0.0, rtol=1e-12, what=what, **evidence)


def whole_number(got, want: int, what: str = "wrong number", **evidence) -> None:
    """Weights and positions are counted in whole numbers."""
    equal(got, want, what=what, **evidence)
    that(isinstance(got, int), f"a {type(got).__name__} instead of a whole number (int)", expected=repr(want), got=repr(got))


def shape(
    vocab_size: int, hidden_size: int, intermediate_size: int, layers: int, heads: int, kv_heads: int, head_dim: int, tied: bool
) -> Config:
    return Config(
        name="on paper",
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        intermediate_size=intermediate_size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        rope_theta=10_000.0,
        rms_norm_eps=1e-5,
        max_position_embeddings=8192,
        tie_word_embeddings=tied,
        bos_token_id=None,
        eos_token_id=None,
    )


SMOLLM2 = shape(49152, 576, 1536, 30, 9, 3, 64, tied=True)
LLAMA3_8B = shape(128256, 4096, 14336, 32, 32, 8, 128, tied=False)


def small(case: dict, *, tied: bool = True) -> Config:
    return shape(
        case["vocab_size"],
        case["hidden_size"],
        case["intermediate_size"],
        case["num_hidden_layers"],
        case["num_attention_heads"],
        case["num_key_value_heads"],
        case["head_dim"],
        tied,
    )


def seventy_b(case: dict, kv_heads: int) -> Config:
    return shape(32000, 8192, 28672, case["layers"], case["heads"], kv_heads, case["head_dim"], tied=False)


def gemma_7b(case: dict) -> Config:
    return shape(256000, 3072, 24576, case["layers"], case["heads"], case["heads"], case["head_dim"], tied=True)


@checks("param_count", weight=2)
def test_smollm2(student, hand):
    """SmolLM2 has 134,515,008 weights"""
    whole_number(student.param_count(SMOLLM2), hand["smollm2"]["total"])


@checks("param_count")
def test_llama3_8b_has_a_head_of_its_own(student, hand):
    """Llama 3 8B: the head is a second matrix, and its weights are counted"""
    whole_number(student.param_count(LLAMA3_8B), hand["llama3_8b"]["total"])


@checks("param_count")
def test_gemma_7b_has_heads_wider_than_its_share(student, hand):
    """Gemma 7B, whose 16 heads of 256 are together wider than D = 3,072, has 8.5 billion weights"""
    whole_number(student.param_count(gemma_7b(hand["gemma_7b"])), hand["gemma_7b"]["total"])


@checks("param_count")
def test_a_model_small_enough_to_count(student, hand):
    """models of 172, 270 and 138,986,029 weights: the number is exact"""
    case = hand["small_forward"]
    whole_number(student.param_count(small(case)), case["weights_tied"])
    whole_number(student.param_count(shape(11, 6, 5, 1, 1, 1, 4, tied=True)), 270, "wrong number for a single head")
    odd = shape(50_257, 577, 1_537, 31, 9, 3, 64, tied=True)  # float32 has no odd number of this size
    whole_number(student.param_count(odd), 138_986_029)


@checks("prefill_flops", weight=2)
def test_prefill_by_hand(student, hand):
    """FLOPs of a prefill of 512 tokens with 7B parameters, by hand"""
    case = hand["request_7b"]
    exact(student.prefill_flops(N_7B, case["t_prompt"]), case["prefill_flops"])


@checks("prefill_flops")
def test_prefill_of_one_token(student):
    """a token costs two FLOPs per weight, also in a prompt of 0 or 20,000 tokens"""
    exact(student.prefill_flops(1000, 1), 2000)
    exact(student.prefill_flops(123_456_789, 1), 246_913_578)
    exact(student.prefill_flops(1000, 0), 0)
    exact(student.prefill_flops(1000, 20_000), 40_000_000, what="wrong for 20,000 tokens")


@checks("decode_flops", weight=2)
def test_decode_by_hand(student, hand):
    """FLOPs of 128 decode steps with 7B parameters, by hand"""
    case = hand["request_7b"]
    exact(student.decode_flops(N_7B, case["t_new"]), case["decode_flops"])


@checks("decode_flops")
def test_a_token_costs_the_same_in_both_phases(student):
    """100 decode steps cost as many FLOPs as a prefill of 100 tokens; 0 steps cost 0 FLOPs"""
    exact(student.decode_flops(12345, 100), 2 * 12345 * 100)
    exact(student.decode_flops(987_654_321, 100), 197_530_864_200, what="wrong number for the same steps of another model")
    exact(student.decode_flops(12345, 0), 0)
    exact(student.decode_flops(3, 7), 42, what="wrong for a model of three weights")


@checks("forward_flops", weight=2)
def test_a_pass_small_enough_to_count(student, hand):
    """one small layer: 3 tokens take 1,104 FLOPs, and 9,001 tokens, more than the model accepts, take 1,299,168,336"""
    case = hand["small_forward"]
    exact(student.forward_flops(small(case), case["t"]), case["flops"])
    exact(student.forward_flops(small(case), 9_001), 1_299_168_336, what="wrong for 9,001 tokens")


@checks("forward_flops", weight=2)
def test_the_rule_of_two_and_what_it_leaves_out(student, hand):
    """SmolLM2 at three text lengths: the exact FLOPs are 1.00, 1.13 and 1.53 times 2NT"""
    case = hand["exact_over_rule"]
    for tokens, ratio in zip(case["tokens"], case["ratio"], strict=True):
        got = student.forward_flops(SMOLLM2, tokens) / (2 * 134_515_008 * tokens)
        close(got, ratio, atol=0.005, rtol=0.0, what=f"wrong ratio to 2NT at T = {tokens}")


@checks("forward_flops")
def test_looking_up_is_no_product(student, hand):
    """an untied model costs as many FLOPs as a tied model: the head is a product, the embedding only a lookup"""
    case = hand["small_forward"]
    exact(student.forward_flops(small(case, tied=False), case["t"]), case["flops"])


@checks("forward_flops")
def test_heads_wider_than_their_share(student, hand):
    """FLOPs of one token through Gemma 7B, whose 16 heads of 256 are together wider than D"""
    exact(student.forward_flops(gemma_7b(hand["gemma_7b"]), 1), hand["gemma_7b"]["flops_of_a_token"])


@checks("weight_bytes", weight=2)
def test_weights_by_hand(student, hand):
    """in fp16, 7B weights take 14 GB and 8B weights take 16 GB"""
    exact(student.weight_bytes(N_7B, 2), hand["request_7b"]["weight_bytes"])
    exact(student.weight_bytes(8_000_000_000, 2), hand["h100_six_tokens"]["weight_bytes"])


@checks("weight_bytes")
def test_other_widths(student):
    """values of 64, 32, 8, 5.5 and 4 bits, an even and an odd number of weights: the bytes are not rounded"""
    for size in (8, 4, 1, 0.5, 0.6875):
        for n in (1000, 134_515_001):
            exact(student.weight_bytes(n, size), n * size, what=f"wrong for {n:,} weights of {size} bytes a value")


@checks("kv_cache_bytes", weight=2)
def test_cache_of_a_large_model(student, hand):
    """80 layers, 64 heads: 10.49 GB for 4,000 tokens, 10.74 GB for 4,096; Gemma 7B: 458,752 bytes per token"""
    case = hand["cache_70b"]
    for tokens in (4000, 4096):
        got = student.kv_cache_bytes(seventy_b(case, case["heads"]), tokens, 1, case["bytes_per_value"])
        exact(got, case[f"bytes_{tokens}"], what=f"wrong number of bytes for {tokens:,} tokens")
    exact(student.kv_cache_bytes(gemma_7b(hand["gemma_7b"]), 1, 1, 2), 458_752, what="wrong for heads of 256 where D is 3,072")


@checks("kv_cache_bytes", weight=2)
def test_only_key_value_heads_are_kept(student, hand):
    """8 key/value heads for 64 query heads: the cache takes an eighth of the bytes"""
    case = hand["cache_70b"]
    got = student.kv_cache_bytes(seventy_b(case, case["kv_heads"]), 4096, 1, case["bytes_per_value"])
    all_heads = "This is what 64 heads would need. Queries are not kept: each layer has num_key_value_heads heads in the cache."
    exact(got, case["bytes_4096_gqa"], suspects=[(case["bytes_4096"], all_heads)])


@checks("kv_cache_bytes")
def test_cache_of_smollm2(student, hand):
    """SmolLM2: 23,040 bytes per token and sequence; no token or no sequence takes 0 bytes; nothing is capped or rounded"""
    case = hand["smollm2"]
    exact(student.kv_cache_bytes(SMOLLM2, 1, 1, 2), case["cache_bytes_per_token"])
    exact(student.kv_cache_bytes(SMOLLM2, 8192, 1, 2), case["cache_bytes_8192"])
    exact(student.kv_cache_bytes(SMOLLM2, 1, 16, 2), 16 * case["cache_bytes_per_token"], what="wrong for a batch of 16")
    exact(student.kv_cache_bytes(SMOLLM2, 0, 16, 2), 0, what="wrong for a cache without tokens")
    exact(student.kv_cache_bytes(SMOLLM2, 100, 0, 2), 0, what="wrong for a batch of no sequence")
    exact(student.kv_cache_bytes(SMOLLM2, 123_457, 7, 4), 39_822_289_920, what="wrong for 7 long texts in float32")
    few = small(hand["small_forward"])  # four values a token
    exact(student.kv_cache_bytes(few, 3, 1, 0.6875), 8.25, what="wrong for 12 values in 5.5 bits each")


@checks("arithmetic_intensity", weight=2)
def test_intensity_by_hand(student, hand):
    """arithmetic intensity is FLOPs per byte, by hand"""
    case = hand["roofline"]
    for flops, num_bytes, want in zip(case["flops"], case["bytes"], case["intensity"], strict=True):
        inverted = [(num_bytes / flops, "These are bytes per FLOP: invert the fraction.")]
        exact(student.arithmetic_intensity(flops, num_bytes), want, suspects=inverted)


@checks("arithmetic_intensity")
def test_a_decode_step_in_fp16(student):
    """fp16: 1 FLOP per byte for one token, 512 for 512 tokens, 0 for a copy; small and large ratios are exact"""
    exact(student.arithmetic_intensity(2 * N_7B, 2 * N_7B), 1.0)
    exact(student.arithmetic_intensity(2 * N_7B * 512, 2 * N_7B), 512.0)
    exact(student.arithmetic_intensity(0, 2 * N_7B), 0.0)
    exact(student.arithmetic_intensity(3, 80), 0.0375)
    exact(student.arithmetic_intensity(6, 1.5), 4.0, what="wrong for three weights in 4 bits")
    exact(student.arithmetic_intensity(2, 0.5), 4.0, what="wrong for one weight in 4 bits")
    exact(student.arithmetic_intensity(2 * N_7B * 8_000, 2 * N_7B), 8_000.0)


@checks("roofline_seconds", weight=2)
def test_roofline_by_hand(student, hand):
    """the longer of arithmetic time and memory time is the result, also near the balance and for nanoseconds"""
    case = hand["roofline"]
    for flops, num_bytes, want in zip(case["flops"], case["bytes"], case["seconds"], strict=True):
        arithmetic, memory = flops / case["peak_flops"], num_bytes / case["bandwidth"]
        exact(
            student.roofline_seconds(flops, num_bytes, case["peak_flops"], case["bandwidth"]),
            want,
            suspects=[
                (min(arithmetic, memory), "This is the shorter of the two times. The work is done when both are."),
                (arithmetic + memory, "This is the sum of the two times. They pass side by side: the longer one decides."),
            ],
        )
    # A V100: 138.9 FLOPs a byte.
    for flops, num_bytes, want in ((138.95e9, 1e9, 1.1116e-3), (138.8e9, 1e9, 1e-3 / 0.9), (125e9, 9e8, 1e-3), (1.0, 4_500.0, 5e-9)):
        what = f"wrong for {flops:,.0f} FLOPs and {num_bytes:,.0f} bytes on a V100"
        exact(student.roofline_seconds(flops, num_bytes, 125e12, 9e11), want, what=what)


@checks("roofline_seconds", weight=2)
def test_six_tokens_on_an_h100(student, hand):
    """a pass over 6 tokens on an H100 is limited by memory: 4.78 ms"""
    case = hand["h100_six_tokens"]
    got = student.roofline_seconds(2 * case["n_params"] * case["tokens"], case["weight_bytes"], case["peak_flops"], case["bandwidth"])
    close(got, case["read_seconds"], atol=5e-7, rtol=0.0)


@checks("roofline_seconds")
def test_prefill_on_an_a100(student, hand):
    """a prefill of 512 tokens on an A100 is limited by arithmetic: 22.97 ms"""
    case = hand["request_7b"]
    got = student.roofline_seconds(case["prefill_flops"], case["weight_bytes"], case["peak_flops"], case["bandwidth"])
    close(got, case["prefill_seconds"], atol=5e-6, rtol=0.0)


@checks("roofline_seconds")
def test_a_copy_calculates_nothing(student):
    """copying 14 GB at 2 TB/s, without any FLOPs, takes 7 ms"""
    exact(student.roofline_seconds(0, 14e9, 312e12, 2e12), 0.007)


@checks("naive_positions", weight=2)
def test_naive_by_hand(student, hand):
    """without a cache, every step passes the whole text through the layers, by hand"""
    case = hand["positions"]
    for t0, g, want, cached in zip(case["t0"], case["g"], case["naive"], case["cached"], strict=True):
        whole_number(
            student.naive_positions(t0, g),
            want,
            f"wrong number of positions for {g} tokens after {t0}",
            suspects=[
                (cached, "This is the number with a cache. Without one each step reads the whole text."),
                (want + t0 + g, "One step too many: the last new token is not read again. The last step reads t0 + g - 1."),
            ],
        )


@checks("naive_positions")
def test_naive_short(student):
    """no new token, one new token, an empty prompt, long texts: the number of positions is exact"""
    whole_number(student.naive_positions(7, 0), 0)
    whole_number(student.naive_positions(7, 1), 7)
    whole_number(student.naive_positions(0, 4), 6, "wrong number of positions without a prompt")
    for t0, g, want in ((5_000, 100, 504_950), (3, 70_000, 2_450_175_000)):
        whole_number(student.naive_positions(t0, g), want, f"wrong number of positions for {g:,} tokens after {t0:,}")


@checks("cached_positions", weight=2)
def test_cached_by_hand(student, hand):
    """with a cache, the prompt and every new token except the last pass through the layers once, by hand"""
    case = hand["positions"]
    for t0, g, want in zip(case["t0"], case["g"], case["cached"], strict=True):
        whole_number(
            student.cached_positions(t0, g),
            want,
            f"wrong number of positions for {g} tokens after {t0}",
            suspects=[(t0 + g, "One too many: the last new token is never fed back.")],
        )


@checks("cached_positions")
def test_cached_short(student):
    """no new token, one new token, long texts: the number of positions is exact"""
    whole_number(student.cached_positions(7, 1), 7)
    for t0, g, want in ((5_000, 100, 5_099), (3, 70_000, 70_002)):
        whole_number(student.cached_positions(t0, g), want, f"wrong number of positions for {g:,} tokens after {t0:,}")
    whole_number(student.cached_positions(7, 0), 0, suspects=[(6, "Nothing is generated, so nothing is read: 0.")])


@checks("measure_machine", weight=2)
def test_two_rates(student):
    """the Machine has two positive, finite rates; size, num_bytes and rounds are used as given, with the right defaults"""
    for rounds in (1, 3):
        machine = student.measure_machine(128, 2**20, rounds)
        for name in ("peak_flops", "bandwidth"):
            rate, what = getattr(machine, name), f"{name} is not a positive number, with rounds={rounds}"
            that(isinstance(rate, int | float) and math.isfinite(rate) and rate > 0, what, got=rate)
        close(machine.balance, machine.peak_flops / machine.bandwidth)
    products(student, rounds=1, of=80, size=80, num_bytes=2**13)
    products(student, rounds=2, of=112, size=112, num_bytes=2**13)
    memory_made(student, 2**23, size=48, num_bytes=2**23, rounds=1)
    products(student, rounds=5, of=56, size=56, num_bytes=2**13, default=True)
    work, one = memory_made(student, 2**28, rounds=1), 2 * 1024**3
    # An untimed round to warm up is allowed. Numpy's products are not counted; a sum by a matrix times a vector is, as a 16th of one.
    that(
        work.flops == 0 or (work.flops // one in (1, 2) and work.flops % one <= 0.15 * one), "wrong work where no size is given",
        expected=f"products of 1024 x 1024: {one:,} FLOPs each", got=f"{work.flops:,} FLOPs",
    )  # fmt: skip


@checks("measure_machine", weight=2)
def test_the_work_fits_into_the_call(student):
    """at the reported rates, one round takes no longer than the whole call took"""
    size, num_bytes, rounds = 256, 2**22, 4
    start = time.perf_counter()
    machine = student.measure_machine(size, num_bytes, rounds)
    call_seconds = time.perf_counter() - start
    for flops_or_bytes, name in ((2 * size**3, "peak_flops"), (num_bytes, "bandwidth")):
        implied = flops_or_bytes / getattr(machine, name)
        that(
            implied <= 1.01 * call_seconds,
            f"{name} is too low: one round would have taken longer than the whole call",
            expected=f"at most {call_seconds:.3g} s a round",
            got=f"{implied:.3g} s",
        )


@checks("measure_machine", weight=4)
def test_a_machine_whose_rates_are_known(student):
    """a made-up machine of 200 GFLOP/s and 10 GB/s: the two rates are right, and a second call measures again"""
    rates_of_a_made_up_machine(student, size=256, num_bytes=2**22, rounds=7, peak_flops=2e11, bandwidth=1e10)


def rates_of_a_made_up_machine(student, *, size: int, num_bytes: int, rounds: int, peak_flops: float, bandwidth: float) -> None:
    """Its products and sums take three times as long but for every fourth, so of four rounds one is undisturbed."""
    with student.simulated_machine(peak_flops=peak_flops, bandwidth=bandwidth) as work:
        machine = student.measure_machine(size, num_bytes, rounds)
    if work.clock_reads == 0:
        return  # a clock that cannot be exchanged: the other checks hold it against the real one
    if work.flops == 0:  # numpy's, which nobody counts: each look at the clock is a tick after the last
        peak_flops = 2 * size**3 / TICK_SECONDS
    if math.isclose(machine.bandwidth * TICK_SECONDS, num_bytes, rel_tol=1e-6):
        bandwidth = machine.bandwidth
    making = [2 * size**3 / (2 * size**3 / peak_flops + 4 * matrices * size**2 / bandwidth) for matrices in (1, 2)]
    suspects = not_the_shortest(peak_flops, rounds)
    suspects += [(rate, "Making a matrix is in the time of the product: make both before you read the clock.") for rate in making]
    by_entries = "This is the rate of an operation entry by entry, as `a * b` is. A matrix product is `a @ b`."
    suspects += [(size * bandwidth / by, by_entries) for by in (4, 6)] if work.flops == 0 else []
    close(machine.peak_flops, peak_flops, atol=0.0, rtol=0.03, what="wrong peak_flops, in FLOP/s", suspects=suspects)
    suspects = not_the_shortest(bandwidth, rounds)
    if work.written_bytes >= rounds * num_bytes:
        making_too = "Each round makes or copies an array of num_bytes in its time: make it once, before you read the clock."
        suspects += [(bandwidth / 2, making_too)]
    close(machine.bandwidth, bandwidth, atol=0.0, rtol=0.03, what="wrong bandwidth, in bytes/s", suspects=suspects)
    with student.simulated_machine(peak_flops=peak_flops, bandwidth=bandwidth) as again:
        student.measure_machine(size, num_bytes, rounds)
    that(again.clock_reads > 0, "a second call with the same arguments does not look at the clock: measure again in each call")


def not_the_shortest(rate: float, rounds: int) -> list[tuple[float, str]]:
    """Return the rates of a mean and of a disturbed round, with their causes: one round in four takes a third of the others' time."""
    disturbed = (
        "This is the rate of a disturbed round, which took three times as long as the shortest. A median or one fixed round gives that: "
        "take the shortest time, and read the clock again at the start of each round."
    )
    mean = "This is the rate for the mean time of the rounds, disturbed ones included. Divide the work of one round by the shortest time."
    quick = (rounds // 4, rounds // 4 + 1)  # so many are undisturbed, by whether there was one to warm up
    means = [(rate * rounds / (3 * rounds - 2 * count), mean) for count in quick if 0 < count < rounds]
    return [(rate / 3, disturbed), *means]


def products(student, *, rounds: int, of: int, default: bool = False, within: float = 0.02, **given: int) -> None:
    """Fail unless `rounds` more rounds do as much work as `rounds` products of two `of` x `of` matrices."""
    with student.counting() as work:
        student.measure_machine(**given) if default else student.measure_machine(rounds=rounds, **given)
    with student.counting() as twice:  # what is done once, to warm up, falls out of the difference
        machine = student.measure_machine(rounds=2 * rounds, **given)
    that(machine.peak_flops > 0, "peak_flops is not a positive number", got=machine.peak_flops)
    done, due = twice.flops - work.flops, 2 * of**3 * rounds
    that(
        twice.flops == 0 or abs(done - due) <= within * due,  # numpy's products are not counted, those with a vector are
        f"wrong work for rounds={rounds} and products of {of} x {of}",
        expected=f"{due:,} FLOPs",
        got=f"{done:,}",
        cause="A call with twice as many rounds did no more products: the number of rounds is the argument rounds." if done == 0 else None,
    )


def memory_made(student, due: int, **given: int) -> Work:
    """Return the work of a call. Fail unless the array that is summed, torch's or numpy's, has `due` bytes, however often it is written."""
    with student.counting(python=True) as work:
        student.measure_machine(**given)
    made = max(work.largest_bytes, work.python_bytes)  # a product of torch's may go with a sum of numpy's
    that(due <= made <= 1.1 * due, "wrong amount of memory", expected=f"{due:,} bytes", got=f"{made:,}")
    return work


def whole(rng: torch.Generator, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (1,), generator=rng))


def random_shape(rng: torch.Generator, *, tied: bool | None = None) -> Config:
    """Return a small model with fewer key/value heads than query heads, and with H * Dh different from D."""
    kv_heads = whole(rng, 1, 4)
    heads = kv_heads * whole(rng, 2, 4)
    head_dim = 2 * whole(rng, 2, 9)
    width = heads * head_dim + whole(rng, 1, 30)
    tied = bool(whole(rng, 0, 1)) if tied is None else tied
    return shape(whole(rng, 50, 400), width, whole(rng, 40, 300), whole(rng, 2, 7), heads, kv_heads, head_dim, tied)
