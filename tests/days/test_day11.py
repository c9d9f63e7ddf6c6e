"""The numbers of the day of the batch: worked out by hand, quoted in the lesson, drawn in its figures."""

import tomllib

import pytest
import torch

import solutions.batching
import solutions.samplers
from autograder.sandbox.measure.cuda_emulator import EmulatedCuda
from autograder.sandbox.measure.op_counter import counting
from course.kit import load_model, paths
from course.kit.hardware import HARDWARE
from solutions.attention import rotary
from solutions.batching import capture_decode, generate_batch, left_pad, positions_and_mask, prefill_batch, static_decode
from solutions.costs import cached_positions, decode_flops, prefill_flops, roofline_seconds, weight_bytes
from solutions.kv_cache import KVCache

from ..support.passages import assert_said

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["batching"]
LESSON = (paths.ROOT / "course" / "day11_batching" / "lesson.md").read_text(encoding="utf-8")
A100 = next(h.machine for h in HARDWARE if h.machine.name == "A100")


def near(number: float, like: float, decimals: int) -> bool:
    return abs(number - like) <= 0.5001 * 10**-decimals


def step_seconds(rows: int, cached_tokens: int) -> float:
    """A decode step of the 7B model on an A100, by the roofline."""
    case = HAND["gpu_7b"]
    moved = case["weight_bytes"] + rows * cached_tokens * case["cache_bytes_per_token"]
    return roofline_seconds(rows * decode_flops(case["n_params"], 1), moved, A100.peak_flops, A100.bandwidth)


def test_hand_computed_numbers_are_right() -> None:
    case = HAND["three_rows"]
    longest = max(map(len, case["prompts"]))
    assert case["num_pad"] == [longest - len(prompt) for prompt in case["prompts"]]
    assert case["ids"] == [[case["pad_id"]] * pads + prompt for pads, prompt in zip(case["num_pad"], case["prompts"], strict=True)]
    assert (case["pads"], case["slots"]) == (sum(case["num_pad"]), longest * 3)
    for name, start, q_len in (("grid", 0, 4), ("decode", HAND["decode"]["start"], 1)):
        case = HAND[name]
        assert case["positions"] == [[max(0, start + i - pads) for i in range(q_len)] for pads in case["num_pad"]]
        for pads, table in zip(case["num_pad"], case["mask"], strict=True):
            for i, row in enumerate(table):
                slot = start + i
                assert row == [int(key == slot or pads <= key <= slot) for key in range(start + q_len)]
    case = HAND["work"]
    assert case["positions"] == len(case["lengths"]) * cached_positions(max(case["lengths"]), case["t_new"])
    case = HAND["waste"]
    assert (case["slots"], case["real"]) == (4 * max(case["prompts"]), sum(case["prompts"]))
    assert near(1 - case["real"] / case["slots"], case["pad_share"], 3)
    assert (case["row_steps"], case["useful"]) == (4 * max(case["answers"]), sum(case["answers"]))
    assert 1 - case["useful"] / case["row_steps"] == case["idle_share"]
    case = HAND["gpu_7b"]
    assert (case["peak_flops"], case["bandwidth"]) == (A100.peak_flops, A100.bandwidth)
    assert case["weight_bytes"] == weight_bytes(int(case["n_params"]), 2)
    assert case["cache_bytes_per_token"] == 2 * 32 * 32 * 128 * 2
    assert case["tokens_per_row"] == 512 + 128 // 2
    for i, rows in enumerate(case["batch"]):
        assert near(step_seconds(rows, case["tokens_per_row"]) * 1e3, case["step_ms"][i], 2)
        assert round(rows / step_seconds(rows, case["tokens_per_row"])) == case["tokens_per_second"][i]
        assert round(rows / step_seconds(rows, 0)) == case["weights_only_tokens_per_second"][i]
    assert set(HAND) == {"three_rows", "grid", "decode", "work", "waste", "gpu_7b"}, "every entry is recomputed"


def test_the_reference_gives_the_hand_computed_numbers() -> None:
    case = HAND["three_rows"]
    ids, num_pad = left_pad(case["prompts"], case["pad_id"])
    assert (ids.tolist(), num_pad.tolist()) == (case["ids"], case["num_pad"])
    for name, start, q_len in (("grid", 0, 4), ("decode", HAND["decode"]["start"], 1)):
        positions, mask = positions_and_mask(num_pad, start, q_len)
        assert positions.tolist() == HAND[name]["positions"]
        assert mask[:, 0].int().tolist() == HAND[name]["mask"]


def test_the_lesson_quotes_them() -> None:
    case = HAND["gpu_7b"]
    cached = case["tokens_per_row"]
    quoted = {
        "7 ms of reading and 0.045 ms of": (near(14e9 / A100.bandwidth * 1e3, 7, 3), near(14e9 / A100.peak_flops * 1e3, 0.045, 3)),
        "156 FLOPs": A100.balance == 156,
        "143 tokens/s": round(1 / step_seconds(1, 0)) == 143,
        "8 / 0.007 = 1,143 tokens/s": round(8 / step_seconds(8, 0)) == 1143,
        "156 rows, 22,286": round(156 / step_seconds(156, 0)) == 22_286,
        "524,288 bytes": case["cache_bytes_per_token"] == 524_288,
        "302 MB": round(cached * case["cache_bytes_per_token"] / 1e6) == 302,
        "four times the tokens, and each user waits twice as long": (near(3841 / 975, 4, 0), near(16.66 / 8.21, 2, 0)),
        "22.97 ms": near(prefill_flops(7_000_000_000, 512) / A100.peak_flops * 1e3, 22.97, 2),
        "1.47 s": near(64 * prefill_flops(7_000_000_000, 512) / A100.peak_flops, 1.47, 2),
        "4 of its 12 slots": (HAND["three_rows"]["pads"], HAND["three_rows"]["slots"]) == (4, 12),
        "4, 2, 5": [p for (p,) in HAND["decode"]["positions"]] == [4, 2, 5],
        "300 + 12 = 312": HAND["work"]["positions"] == 312,
        "2,048 slots, and 64.1 %": (HAND["waste"]["slots"], HAND["waste"]["pad_share"]) == (2048, 0.641),
        "53.75 %": HAND["waste"]["idle_share"] == 0.5375,
        "4 · (40 + 10) = 200": 4 * cached_positions(40, 11) == 200,
        "together 140": sum(cached_positions(n, 11) for n in (10, 20, 30, 40)) == 140,
        "3.9 times. ITL: 2.0 times": (near(3841 / 975, 3.9, 1), near(16.66 / 8.21, 2.0, 1)),
        "Over 2 bytes: 8 FLOP/byte. In float32, over 4 bytes: 4": (8 * 2 / 2, 8 * 2 / 4) == (8, 4),
    }
    assert_said(LESSON, quoted)
    for i, rows in enumerate(case["batch"]):
        together, weights_only = case["tokens_per_second"][i], case["weights_only_tokens_per_second"][i]
        assert f"| {rows} | {case['step_ms'][i]:.2f} ms | {together:,} | {weights_only:,} |" in LESSON


def test_a_shift_of_all_positions_leaves_the_scores_as_they_are() -> None:
    """What the lesson says of positions that count from the pad, in its text and in question 5."""
    q, k = torch.randn(2, 1, 1, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    here, there = torch.arange(5), torch.arange(5) + 3
    scores = [rotary(q, at) @ rotary(k, at).transpose(-2, -1) for at in (here, there)]
    torch.testing.assert_close(*scores)


def test_the_static_step_agrees_with_the_growing_cache() -> None:
    model = load_model("tiny").weights_only()
    ids, num_pad = left_pad([[5, 6, 7], [8], [1, 2, 3, 4]], 0)
    cache = KVCache(model.config, 3, 6)
    with torch.no_grad():
        prefill_batch(model, ids, num_pad, cache)
        keys, values = cache.keys.clone(), cache.values.clone()
        new = torch.tensor([[9], [10], [11]])
        grown = prefill_batch(model, new, num_pad, cache)
        fixed = static_decode(model, new, num_pad, torch.tensor(4), keys, values)
    torch.testing.assert_close(fixed, grown, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(keys[:, :, :, :5], cache.keys[:, :, :, :5])


def test_a_captured_step_on_the_cpu_calls_the_static_one_and_ends_with_the_slots() -> None:
    model = load_model("tiny").weights_only()
    _, num_pad = left_pad([[5], [6]], 0)
    cache = KVCache(model.config, 2, 1)
    step = capture_decode(model, num_pad, 0, cache.keys, cache.values)
    assert step(torch.tensor([[5], [6]])).shape == (2, model.config.vocab_size)
    with pytest.raises(ValueError, match="max_len = 1"):
        step(torch.tensor([[5], [6]]))


def test_generate_batch_takes_a_device_by_name() -> None:
    model = load_model("tiny").weights_only()
    answers = [generate_batch(model, [[3, 4]], max_new_tokens=2, temperature=0.0, device=d) for d in (None, "cpu", torch.device("cpu"))]
    assert answers[0] == answers[1] == answers[2]


def test_a_step_starts_as_many_operations_as_the_text_says() -> None:
    model = load_model("tiny").weights_only()
    config = model.config
    memory = torch.zeros(2, config.num_hidden_layers, 2, config.num_key_value_heads, 8, config.head_dim)
    given = [torch.ones(2, 1, dtype=torch.int64), torch.tensor([2, 0]), torch.tensor(4), memory[0], memory[1]]
    with EmulatedCuda() as gpu:
        model, given = gpu.on_gpu(model), gpu.on_gpu(given)
        before = gpu.launches.launches
        with torch.no_grad():
            static_decode(model, *given)
        started = gpu.launches.launches - before
    assert f"the other has {started}" in LESSON
    each = started // config.num_hidden_layers
    assert f"about sixteen hundred ({each} in each of its layers)" in LESSON
    assert 1_550 <= 30 * each < 1_650


def test_a_cache_in_two_tensors_serves_a_prefill_and_a_captured_step() -> None:
    """The cell that compares a growing cache with fixed slots, without the names of a student's cache."""
    source = LESSON.partition("class AllSlots:")[2].partition("\n\n\nif if_solved")[0]
    names: dict[str, object] = {"torch": torch, "Tensor": torch.Tensor, "WeightsOnly": object}
    exec("class AllSlots:" + source, names)
    model = load_model("tiny").weights_only()
    ids, num_pad = left_pad([[5, 6, 7], [8], [1, 2, 3, 4]], 0)
    growing, fixed = KVCache(model.config, 3, 8), names["AllSlots"](model, 3, 8)  # type: ignore[operator]
    with torch.no_grad():
        newest = prefill_batch(model, ids, num_pad, growing).argmax(dim=-1, keepdim=True)
        prefill_batch(model, ids, num_pad, fixed)
        step = capture_decode(model, num_pad, 4, fixed.keys, fixed.values)
        for _ in range(4):
            want = prefill_batch(model, newest, num_pad, growing)
            torch.testing.assert_close(step(newest), want, atol=1e-4, rtol=1e-4)
            newest = want.argmax(dim=-1, keepdim=True)


def test_what_a_step_of_the_ladder_reads_and_what_its_roof_allows() -> None:
    """SmolLM2 in float32 after a prompt of 512 tokens; its numbers, whether or not its file is here."""
    weights, row = 134_515_008 * 4, 512 * 23_040 * 2
    read = [weights + rows * row for rows in (1, 16)]
    for text, number in {
        "538.1 MB in float32": weights / 1e6, "tokens is 23.6 MB": row / 1e6, "16 rows reads 915.5 MB": read[1] / 1e6,
        "where a step of one reads 561.7": read[0] / 1e6, "915.5 = 9.8 times": 16 * read[0] / read[1],
    }.items():  # fmt: skip
        assert text in LESSON
        assert f"{number:.1f}" in text


def test_pads_cost_what_the_lesson_says() -> None:
    """In a rectangle every slot goes through every layer, pads too."""
    model = load_model("tiny").weights_only()

    def flops(lengths: list[int]) -> int:
        ids, num_pad = left_pad([[5] * length for length in lengths], 0)
        with counting() as work, torch.no_grad():
            prefill_batch(model, ids, num_pad, KVCache(model.config, len(lengths), max(lengths)))
        return work.flops

    worst = [1, 1, 1, 1, 1, 1, 1, 128]
    assert f"`{worst}`" in LESSON
    assert 7 < flops(worst) / sum(flops([length]) for length in worst) < 8
    assert max(flops([n, 128]) / (flops([n]) + flops([128])) for n in (1, 2, 64, 128)) < 2


def test_the_least_slots_of_the_challenge_are_the_least() -> None:
    """Neighbours in the order of lengths are best read together; the best cuts are found here in another way than by its answers."""
    given = LESSON.partition("OVERNIGHT = ")[2].partition("\n")[0]
    lengths = sorted(eval(given, {"torch": torch}), reverse=True)
    for rows in (8, 7):
        spare = -len(lengths) % rows
        best = {(0, 0): 0}  # (prompts placed, places left free) -> slots
        for at in range(len(lengths)):
            for free in range(spare + 1):
                for unused in range(min(rows - 1, spare - free) + 1) if (at, free) in best else ():
                    end, way = at + rows - unused, best[at, free] + (rows - unused) * lengths[at]
                    best[end, free + unused] = min(way, best.get((end, free + unused), way))
        assert f"({rows}, {best[len(lengths), spare]:_})" in LESSON


def test_a_row_with_a_generator_of_its_own_does_not_notice_its_neighbours() -> None:
    source = LESSON.partition("def each_its_own")[2].partition("\n\n\nif if_solved")[0]
    names = dict(vars(solutions.batching)) | {"day5": solutions.samplers, "tiny": load_model("tiny")}
    exec("def each_its_own" + source, names)
    alone, company = names["each_its_own"]([[5, 6, 7]], [1]), names["each_its_own"]([[5, 6, 7], [8, 9], [10]], [1, 2, 3])
    assert alone[0] == company[0]
    shared = [
        generate_batch(names["tiny"].weights_only(), prompts, max_new_tokens=8, generator=torch.Generator().manual_seed(1))[0]
        for prompts in ([[5, 6, 7]], [[5, 6, 7], [8, 9]])
    ]
    assert shared[0] == alone[0]
    assert shared[1] != alone[0]
