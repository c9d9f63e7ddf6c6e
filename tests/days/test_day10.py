"""The numbers of the KV cache day: worked out by hand, or quoted in the lesson."""

import ast
import math
import re
import tomllib

import pytest
import torch

from course.kit import Config, load_model, paths
from solutions import kv_cache
from solutions.attention import attention, causal_mask
from solutions.costs import cached_positions, kv_cache_bytes, naive_positions, param_count
from solutions.generation import generate
from solutions.kv_cache import CacheFull, KVCache, decode_step, forward_cached, generate_cached, prefill

from ..support.passages import assert_said

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["kv_cache"]
LESSON = (paths.ROOT / "course" / "day10_kv_cache" / "lesson.md").read_text(encoding="utf-8")
SMOLLM2 = Config("SmolLM2", 49152, 576, 1536, 30, 9, 3, 64, 1e5, 1e-5, 8192, True, 1, 2)
TINY = load_model("tiny").config


def near(number: float, like: float, decimals: int) -> bool:
    return abs(number - like) <= 0.5001 * 10**-decimals


def cached_lengths(t0: int, g: int, block_size: int) -> list[int]:
    """Tokens that pass through the model in each step of generate_cached."""
    texts = [t0 + step for step in range(g)]
    return [min(text, block_size) if text in (t0,) or text > block_size else 1 for text in texts]


def test_hand_computed_numbers_are_right() -> None:
    case = HAND["weights_one_to_four"]
    for i, (key, read) in enumerate(zip(case["keys"], case["read"], strict=True)):
        assert near(key, math.log(i + 1), 4)
        weights = case["weights"][: i + 1]
        assert read == pytest.approx(sum(w * v for w, v in zip(weights, case["values"], strict=False)) / sum(weights))
    case = HAND["two_layers"]
    counts = [0, 0]
    for layer, tokens, length in zip(case["layers"], case["tokens"], case["lengths"], strict=True):
        counts[layer] += tokens
        assert length == counts[1]
        assert max(counts) <= case["max_len"]
    case = HAND["smollm2"]
    assert case["values_per_token"] == 2 * 30 * 3 * 64
    assert case["bytes_per_token"] == kv_cache_bytes(SMOLLM2, 1, 1, 2)
    assert case["bytes_per_token_float32"] == kv_cache_bytes(SMOLLM2, 1, 1, 4)
    assert case["bytes_8192"] == kv_cache_bytes(SMOLLM2, 8192, 1, 2)
    assert case["weight_bytes"] == 2 * param_count(SMOLLM2)
    for rows, tokens in ((1, case["outgrown_at"]), (16, case["outgrown_at_16_rows"])):
        assert kv_cache_bytes(SMOLLM2, tokens - 1, rows, 2) <= case["weight_bytes"] < kv_cache_bytes(SMOLLM2, tokens, rows, 2)
    case = HAND["tiny_cache"]
    assert case["bytes_per_token"] == kv_cache_bytes(TINY, 1, 1, 4)
    assert case["bytes_2048"] == kv_cache_bytes(TINY, 2048, 1, 4)
    case = HAND["eighty_layers"]
    assert case["bytes_per_token"] == 2 * 80 * 64 * 128 * 2
    assert case["bytes_4000"] == 4000 * case["bytes_per_token"]
    assert case["bytes_per_token_gqa"] * 8 == case["bytes_per_token"]
    assert case["bytes_4096_gqa"] == 4096 * case["bytes_per_token_gqa"]
    assert case["outgrown_at"] == math.ceil(case["weight_bytes"] / case["bytes_per_token"])
    case = HAND["positions"]
    for t0, g, naive, cached in zip(case["t0"], case["g"], case["naive"], case["cached"], strict=True):
        assert (naive, cached) == (sum(range(t0, t0 + g)), t0 + g - 1) == (naive_positions(t0, g), cached_positions(t0, g))
    case = HAND["window"]
    assert case["naive_lengths"] == [min(case["t0"] + i, case["block_size"]) for i in range(case["g"])]
    assert case["cached_lengths"] == cached_lengths(case["t0"], case["g"], case["block_size"])
    assert (case["naive"], case["cached"]) == (sum(case["naive_lengths"]), sum(case["cached_lengths"]))
    case = HAND["head"]
    assert case["smollm2_head"] == 49152 * 576
    assert case["smollm2_all"] == 30 * (2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536) + case["smollm2_head"]
    assert case["tiny_head"] == TINY.vocab_size * TINY.hidden_size
    assert case["tiny_all"] == 5 * (2 * 128 * 128 + 2 * 128 * 64 + 3 * 128 * 352) + case["tiny_head"]
    assert set(HAND) == {"weights_one_to_four", "two_layers", "smollm2", "tiny_cache", "eighty_layers", "positions", "window", "head"}


def test_the_reference_gives_the_hand_computed_numbers() -> None:
    case = HAND["weights_one_to_four"]
    keys, values = (torch.tensor(case[name]).reshape(1, 1, 4, 1) for name in ("keys", "values"))
    read = attention(torch.ones(1, 1, 4, 1), keys, values, causal_mask(4, 4)).flatten()
    assert read.tolist() == pytest.approx(case["read"], abs=1e-3)
    assert KVCache(SMOLLM2, 1, 8192, torch.bfloat16, "meta").nbytes == HAND["smollm2"]["bytes_8192"]
    assert KVCache(TINY, 1, 2048).nbytes == HAND["tiny_cache"]["bytes_2048"]
    eighty = Config("80 layers", 32000, 8192, 28672, 80, 64, 8, 128, 1e4, 1e-5, 4096, False, 1, 2)
    assert KVCache(eighty, 1, 4096, torch.float16, "meta").nbytes == HAND["eighty_layers"]["bytes_4096_gqa"]


def test_the_lesson_quotes_these_numbers() -> None:
    calls = {0: 1, 1: 1}
    for n in range(2, 21):
        calls[n] = 1 + calls[n - 1] + calls[n - 2]
    quoted = {
        "34,784 tokens": HAND["positions"]["naive"][2] == 34_784,
        "only 575 of them": HAND["positions"]["cached"][2] == 575,
        "21,891 calls": calls[20] == 21_891,
        "only 21 different arguments": len(calls) == 21,
        "773 GB": near(23_040 * sum(range(1, 8193)) / 1e9, 773, 0),
        "to end up with 189 MB": near(HAND["smollm2"]["bytes_8192"] / 1e6, 189, 0),
        "One row climbs to 189 MB": near(HAND["smollm2"]["bytes_8192"] / 1e6, 189, 0),
        "188.7 MB": near(HAND["smollm2"]["bytes_8192"] / 1e6, 188.7, 1),
        "11,520 numbers a token: 23,040 bytes in 16 bits, 46,080": tuple(
            HAND["smollm2"][name] == number
            for name, number in {"values_per_token": 11_520, "bytes_per_token": 23_040, "bytes_per_token_float32": 46_080}.items()
        ),
        "2,560 bytes a token": HAND["tiny_cache"]["bytes_per_token"] == 2560,
        "2.6 MB for each token": near(HAND["eighty_layers"]["bytes_per_token"] / 1e6, 2.6, 1),
        "10.49 GB": near(HAND["eighty_layers"]["bytes_4000"] / 1e9, 10.49, 2),
        "1.34 GB": near(HAND["eighty_layers"]["bytes_4096_gqa"] / 1e9, 1.34, 2),
        "269.0 MB": near(HAND["smollm2"]["weight_bytes"] / 1e6, 269.0, 1),
        "11,677 tokens": HAND["smollm2"]["outgrown_at"] == 11_677,
        "730 tokens each": HAND["smollm2"]["outgrown_at_16_rows"] == 730,
        "53,406 tokens": HAND["eighty_layers"]["outgrown_at"] == 53_406,
        "about 2,900 tokens": round(HAND["smollm2"]["weight_bytes"] / 4 / 23_040, -2) == 2900,
        "3,020 MB": near(16 * HAND["smollm2"]["bytes_8192"] / 1e6, 3020, 0),
        "21.1 %": near(100 * HAND["head"]["smollm2_head"] / HAND["head"]["smollm2_all"], 21.1, 1),
        "12.5 %": near(100 * HAND["head"]["tiny_head"] / HAND["head"]["tiny_all"], 12.5, 1),
        "100.7 MB in float32": near(512 * 49_152 * 4 / 1e6, 100.7, 1),
        "row of 0.2 MB": near(49_152 * 4 / 1e6, 0.2, 1),
        "56 positions, against 74": (HAND["window"]["cached"], HAND["window"]["naive"]) == (56, 74),
        "| 100 | 20 | 2,190 | 119 |": (naive_positions(100, 20), cached_positions(100, 20)) == (2190, 119),
        "| 64 | 32 | 2,544 | 95 |": (naive_positions(64, 32), cached_positions(64, 32)) == (2544, 95),
        "| 512 | 64 | 34,784 | 575 |": (naive_positions(512, 64), cached_positions(512, 64)) == (34_784, 575),
        "1,499 with a cache": cached_positions(1000, 500) == 1499,
        "= 624,750": naive_positions(1000, 500) == 624_750,
        "377.5 MB": near(kv_cache_bytes(SMOLLM2, 2048, 4, 4) / 1e6, 377.5, 1),
        "= 184,320 weights in matrices, five have 921,600, the head 131,072": (5 * 184_320, 1024 * 128) == (921_600, 131_072),
        "2,105,344 FLOPs for one token": 2 * (921_600 + 131_072) == 2_105_344,
        "5 · 4 · 4 · 32 = 2,560": 5 * 4 * 4 * 32 == 2_560,
        "2,146,304 FLOPs with 16 tokens": 2_105_344 + 16 * 2_560 == 2_146_304,
        "and 4,726,784 with 1,024": 2_105_344 + 1024 * 2_560 == 4_726_784,
        "the copies alone are 141.6 MB": near(30 * 2 * 9 * 1024 * 64 * 4 / 1e6, 141.6, 1),
        "the cache itself has 47.2 MB": near(kv_cache_bytes(SMOLLM2, 1024, 1, 4) / 1e6, 47.2, 1),
        "131,072 bytes": 2 * 32 * 8 * 128 * 2 == 131_072,
        "524.3 MB": near(4000 * 131_072 / 1e6, 524.3, 1),
        "15 users": 8e9 // (4000 * 131_072) == 15,
        "it is 7": 8e9 // (8000 * 131_072) == 7,
    }
    assert_said(LESSON, quoted)
    table = re.findall(r"^\| layer (\d) stores (\d) tokens? \| (\d) \| (\d) \| (\d) \|", LESSON, re.MULTILINE)
    case = HAND["two_layers"]
    assert [(int(a), int(b), int(e)) for a, b, _, _, e in table] == list(zip(case["layers"], case["tokens"], case["lengths"], strict=True))


def test_the_setup_cell_defines_the_exception_of_the_solutions() -> None:
    def definition(source: str) -> str:
        return ast.dump(next(n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == "CacheFull"))

    setup = LESSON.split("```python setup\n")[1].split("```")[0]
    assert definition(setup) == definition((paths.ROOT / "solutions" / "kv_cache.py").read_text(encoding="utf-8"))


def test_a_slot_that_is_dropped_instead_of_rebuilding_is_right_in_the_first_layer_only() -> None:
    """The lesson's claim about windows that slide."""
    model = load_model("tiny", dtype=torch.float64)
    ids = torch.randint(3, 1000, (1, 9), generator=torch.Generator().manual_seed(0))
    whole, window = (KVCache(TINY, 1, 9, torch.float64) for _ in range(2))
    forward_cached(model, ids, whole)
    forward_cached(model, ids[:, 1:], window)
    for layer in range(TINY.num_hidden_layers):
        same = torch.allclose(whole.values[layer, :, :, 1:9], window.values[layer, :, :, :8])
        assert same == (layer == 0)


def test_a_refused_prompt_leaves_the_cache_as_it_was() -> None:
    model = load_model("tiny")
    ids = torch.randint(3, 1000, (2, 8), generator=torch.Generator().manual_seed(1))
    cache = KVCache(TINY, 2, 6)
    prefill(model, ids[:, :4], cache)
    with pytest.raises(CacheFull, match="max_len 6"):
        prefill(model, ids[:, 4:], cache)
    assert (cache.length, cache.counts) == (4, [4] * 5)
    assert torch.allclose(decode_step(model, ids[:, 4:5], cache), model(ids[:, :5])[:, -1], atol=1e-3)


@pytest.mark.slow
def test_smollm2_says_the_same_with_and_without_a_cache() -> None:
    model = load_model("smollm2", missing="none")
    if model is None:
        pytest.skip("SmolLM2 is not on this machine")
    ids = torch.tensor([model.tokenizer.encode("The capital of France is")])
    options = {"max_new_tokens": 6, "block_size": 64, "temperature": 0.0}
    assert torch.equal(generate_cached(model, ids, **options), generate(model, ids, **options))


@pytest.mark.parametrize(
    ("mask", "found_by_single_tokens"),
    [
        (lambda t, total: torch.ones(t, total, dtype=torch.bool), False),  # no mask at all
        (lambda t, total: torch.ones(t, total, dtype=torch.bool).tril(), True),  # aligned at the start
    ],
)
def test_which_wrong_mask_a_test_with_single_tokens_finds(monkeypatch: pytest.MonkeyPatch, mask, found_by_single_tokens) -> None:
    """The bug to find in section 5, and question 5."""
    model = load_model("tiny", dtype=torch.float64)
    ids = torch.arange(20, 28).unsqueeze(0)
    want = model(ids)
    monkeypatch.setattr(kv_cache, "causal_mask", mask)

    def logits(sizes: list[int]) -> torch.Tensor:
        cache = kv_cache.KVCache(model.config, 1, 8, torch.float64)
        with torch.no_grad():
            return torch.cat([kv_cache.forward_cached(model, chunk, cache) for chunk in ids.split(sizes, dim=1)], dim=1)

    assert torch.allclose(logits([1] * 8), want, atol=1e-6) is not found_by_single_tokens
    assert not torch.allclose(logits([1] * 3 + [5]), want, atol=1e-6)
