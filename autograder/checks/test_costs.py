"""Checks of the costs day that students may read. Counts are exact; `measure_machine` is compared with nothing but its own call."""

import math
import time

import torch

from autograder.authoring import checks, close, equal, that
from course.kit import Config

N_7B = 7_000_000_000


def exact(got, want, cause: str, what: str | None = None) -> None:
    """Counts may come as int or float, but no FLOP may be missing."""
    close(got, want, atol=0.0, rtol=1e-12, cause=cause, what=what)


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


@checks("param_count", weight=2)
def test_smollm2(student, hand):
    """SmolLM2, tensor by tensor: 134,515,008"""
    exact(
        student.param_count(SMOLLM2),
        hand["smollm2"]["total"],
        "Embedding 49,152 x 576; in each of 30 layers q and o (576 x 576), k and v (192 x 576), three matrices of the "
        "feed-forward part and two norms; one last norm. The head is the embedding again.",
    )


@checks("param_count")
def test_llama3_8b_has_a_head_of_its_own(student, hand):
    """Llama 3 8B: the head is a second matrix"""
    exact(
        student.param_count(LLAMA3_8B),
        hand["llama3_8b"]["total"],
        "tie_word_embeddings is False here: the embedding (V x D) and the head (V x D) both count. k and v have 8 heads of 128.",
    )


@checks("param_count")
def test_a_model_small_enough_to_count(student, hand):
    """a model of 172 weights"""
    case = hand["small_forward"]
    exact(
        student.param_count(small(case)),
        case["weights_tied"],
        "2*4*4 (q, o) + 2*4*2 (k, v) + 3*4*6 (feed-forward) + 2*4 (norms) + 10*4 (embedding) + 4 (last norm).",
    )


@checks("prefill_flops", weight=2)
def test_prefill_by_hand(student, hand):
    """7B parameters, 512 tokens"""
    case = hand["request_7b"]
    exact(
        student.prefill_flops(N_7B, case["t_prompt"]),
        case["prefill_flops"],
        "Each weight is multiplied and added once for each token: two FLOPs, not one.",
    )


@checks("prefill_flops")
def test_prefill_of_one_token(student):
    """one token costs two FLOPs a weight"""
    exact(student.prefill_flops(1000, 1), 2000, "A multiplication and an addition.")
    exact(student.prefill_flops(1000, 0), 0, "No token, no work.")


@checks("decode_flops", weight=2)
def test_decode_by_hand(student, hand):
    """7B parameters, 128 new tokens"""
    case = hand["request_7b"]
    exact(
        student.decode_flops(N_7B, case["t_new"]),
        case["decode_flops"],
        "128 passes of one token each, two FLOPs a weight in each. With a cache a step does not repeat the old tokens.",
    )


@checks("decode_flops")
def test_a_token_costs_the_same_in_both_phases(student):
    """100 decode steps do the arithmetic of a prefill of 100 tokens"""
    exact(student.decode_flops(12345, 100), 2 * 12345 * 100, "What differs between the phases is time, not FLOPs a token.")
    exact(student.decode_flops(12345, 0), 0, "No step, no work.")


@checks("forward_flops", weight=2)
def test_a_pass_small_enough_to_count(student, hand):
    """three tokens through one small layer: 1,104 FLOPs"""
    case = hand["small_forward"]
    exact(
        student.forward_flops(small(case), case["t"]),
        case["flops"],
        "Multiply-adds: q, o 96; k, v 48; scores 36; values 36; feed-forward 216; head 120. Twice their sum, 552.",
    )


@checks("forward_flops", weight=2)
def test_the_rule_of_two_and_what_it_leaves_out(student, hand):
    """SmolLM2: 1.00, 1.13 and 1.53 times 2NT"""
    case = hand["exact_over_rule"]
    for tokens, ratio in zip(case["tokens"], case["ratio"], strict=True):
        close(
            student.forward_flops(SMOLLM2, tokens) / (2 * 134_515_008 * tokens),
            ratio,
            atol=0.005,
            rtol=0.0,
            what=f"wrong ratio to 2NT at T = {tokens}",
            cause="Scores and the sum of values are T x T for each query head, in each layer: they grow with the square of T.",
        )


@checks("forward_flops")
def test_looking_up_is_no_product(student, hand):
    """the head is a product even where it is tied; the embedding never is"""
    case = hand["small_forward"]
    exact(
        student.forward_flops(small(case, tied=False), case["t"]),
        case["flops"],
        "An embedding is looked up: no FLOP. The head is a product of D x V for each token. So tied or not, the count is the same.",
    )


@checks("weight_bytes", weight=2)
def test_weights_by_hand(student, hand):
    """7B in fp16: 14 GB"""
    exact(student.weight_bytes(N_7B, 2), hand["request_7b"]["weight_bytes"], "Weights times bytes a value. Bytes, not GB and not GiB.")
    exact(student.weight_bytes(8_000_000_000, 2), hand["h100_six_tokens"]["weight_bytes"], "Weights times bytes a value.")


@checks("weight_bytes")
def test_other_widths(student):
    """float32, 8 bits and 4 bits"""
    for size in (4, 1, 0.5):
        exact(student.weight_bytes(1000, size), 1000 * size, "bytes_per_value is given: 4 in float32, 0.5 in 4 bits.")


@checks("kv_cache_bytes", weight=2)
def test_cache_of_a_large_model(student, hand):
    """80 layers, 64 heads: 10.49 GB for 4,000 tokens, 10.74 GB for 4,096"""
    case = hand["cache_70b"]
    for tokens in (4000, 4096):
        exact(
            student.kv_cache_bytes(seventy_b(case, case["heads"]), tokens, 1, case["bytes_per_value"]),
            case[f"bytes_{tokens}"],
            "2 (keys and values) x layers x heads x Dh x tokens x batch x bytes a value, in bytes. "
            "4,096 tokens are 10 GiB, which is 10.74 GB.",
        )


@checks("kv_cache_bytes", weight=2)
def test_only_key_value_heads_are_kept(student, hand):
    """8 key/value heads for 64 query heads: an eighth"""
    case = hand["cache_70b"]
    exact(
        student.kv_cache_bytes(seventy_b(case, case["kv_heads"]), 4096, 1, case["bytes_per_value"]),
        case["bytes_4096_gqa"],
        "Queries are not kept. Count num_key_value_heads, not num_attention_heads.",
    )


@checks("kv_cache_bytes")
def test_cache_of_smollm2(student, hand):
    """SmolLM2: 23,040 bytes a token"""
    case = hand["smollm2"]
    cause = "2 x 30 layers x 3 key/value heads x 64 x 2 bytes."
    exact(student.kv_cache_bytes(SMOLLM2, 1, 1, 2), case["cache_bytes_per_token"], cause)
    exact(student.kv_cache_bytes(SMOLLM2, 8192, 1, 2), case["cache_bytes_8192"], cause)
    exact(student.kv_cache_bytes(SMOLLM2, 1, 16, 2), 16 * case["cache_bytes_per_token"], "Each sequence has a cache of its own.")


@checks("arithmetic_intensity", weight=2)
def test_intensity_by_hand(student, hand):
    """FLOPs for each byte"""
    case = hand["roofline"]
    for flops, num_bytes, want in zip(case["flops"], case["bytes"], case["intensity"], strict=True):
        exact(student.arithmetic_intensity(flops, num_bytes), want, "FLOPs over bytes, not bytes over FLOPs.")


@checks("arithmetic_intensity")
def test_a_decode_step_in_fp16(student):
    """one token: one FLOP a byte"""
    exact(student.arithmetic_intensity(2 * N_7B, 2 * N_7B), 1.0, "Two FLOPs a weight, two bytes a weight.")
    exact(student.arithmetic_intensity(2 * N_7B * 512, 2 * N_7B), 512.0, "512 tokens share one reading of the weights.")


@checks("roofline_seconds", weight=2)
def test_roofline_by_hand(student, hand):
    """one job held up by arithmetic, one by memory"""
    case = hand["roofline"]
    for flops, num_bytes, want in zip(case["flops"], case["bytes"], case["seconds"], strict=True):
        exact(
            student.roofline_seconds(flops, num_bytes, case["peak_flops"], case["bandwidth"]),
            want,
            "Both go on at the same time, and the slower decides: the larger of the two times, neither the smaller nor the sum.",
        )


@checks("roofline_seconds", weight=2)
def test_six_tokens_on_an_h100(student, hand):
    """a pass over 6 tokens waits for the weights: 4.78 ms"""
    case = hand["h100_six_tokens"]
    got = student.roofline_seconds(2 * case["n_params"] * case["tokens"], case["weight_bytes"], case["peak_flops"], case["bandwidth"])
    close(got, case["read_seconds"], atol=5e-7, rtol=0.0, cause="16 GB at 3.35 TB/s: 4.776 ms. The arithmetic, 0.097 ms, hides behind it.")


@checks("roofline_seconds")
def test_prefill_on_an_a100(student, hand):
    """a prompt of 512 tokens waits for the arithmetic: 22.97 ms"""
    case = hand["request_7b"]
    got = student.roofline_seconds(case["prefill_flops"], case["weight_bytes"], case["peak_flops"], case["bandwidth"])
    close(got, case["prefill_seconds"], atol=5e-6, rtol=0.0, cause="7.168e12 FLOPs at 312e12 a second; the weights take 7 ms meanwhile.")


@checks("naive_positions", weight=2)
def test_naive_by_hand(student, hand):
    """the whole text in each step"""
    case = hand["positions"]
    for t0, g, want in zip(case["t0"], case["g"], case["naive"], strict=True):
        equal(
            student.naive_positions(t0, g),
            want,
            what=f"wrong number of positions for {g} tokens after {t0}",
            cause="The first step reads t0 tokens, the next t0 + 1, the last t0 + g - 1.",
        )


@checks("naive_positions")
def test_naive_short(student):
    """no token and one token"""
    equal(student.naive_positions(7, 0), 0, cause="Nothing generated, nothing read.")
    equal(student.naive_positions(7, 1), 7, cause="The first new token needs the prompt once. It is not read itself.")


@checks("cached_positions", weight=2)
def test_cached_by_hand(student, hand):
    """the prompt once, then one at a time"""
    case = hand["positions"]
    for t0, g, want in zip(case["t0"], case["g"], case["cached"], strict=True):
        equal(
            student.cached_positions(t0, g),
            want,
            what=f"wrong number of positions for {g} tokens after {t0}",
            cause="The prefill already gives the first new token, and the last one is never fed back: t0 + g - 1.",
        )


@checks("cached_positions")
def test_cached_short(student):
    """no token and one token"""
    equal(student.cached_positions(7, 1), 7, cause="One new token comes out of the prefill itself.")
    equal(student.cached_positions(7, 0), 0, cause="Nothing generated, nothing read: 0, not t0 - 1.")


@checks("measure_machine", weight=2)
def test_two_rates(student):
    """a Machine with two positive, finite rates"""
    machine = student.measure_machine(128, 2**20, 3)
    for name in ("peak_flops", "bandwidth"):
        rate = getattr(machine, name)
        that(
            isinstance(rate, int | float) and math.isfinite(rate) and rate > 0,
            f"{name} is not a positive number",
            got=rate,
            cause="Divide the work by the best time: FLOPs over seconds, bytes over seconds.",
        )
    close(machine.balance, machine.peak_flops / machine.bandwidth, cause="Return Machine(peak_flops=..., bandwidth=...).")


@checks("measure_machine", weight=2)
def test_the_work_fits_into_the_call(student):
    """work at the rates you report takes no longer than your function took"""
    size, num_bytes, rounds = 256, 2**22, 4
    start = time.perf_counter()
    machine = student.measure_machine(size, num_bytes, rounds)
    call_seconds = time.perf_counter() - start
    for flops_or_bytes, name, unit in ((2 * size**3, "peak_flops", "FLOP/s"), (num_bytes, "bandwidth", "bytes/s")):
        implied = flops_or_bytes / getattr(machine, name)
        that(
            implied <= 1.01 * call_seconds,
            f"{name} is too low: one round would have taken longer than the whole call",
            expected=f"at most {call_seconds:.3g} s a round",
            got=f"{implied:.3g} s",
            cause=f"{name} is in {unit}, not in thousands or billions of them. A product of two size x size matrices is 2 x size^3 FLOPs.",
        )


def whole(rng: torch.Generator, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (1,), generator=rng))


def random_shape(rng: torch.Generator, *, tied: bool | None = None) -> Config:
    """A small model with fewer key/value heads than query heads, and heads that do not share out the width."""
    kv_heads = whole(rng, 1, 4)
    heads = kv_heads * whole(rng, 2, 4)
    head_dim = 2 * whole(rng, 2, 9)
    width = heads * head_dim + whole(rng, 1, 30)
    tied = bool(whole(rng, 0, 1)) if tied is None else tied
    return shape(whole(rng, 50, 400), width, whole(rng, 40, 300), whole(rng, 2, 7), heads, kv_heads, head_dim, tied)
