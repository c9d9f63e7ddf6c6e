"""The numbers of the steering day, what its functions do beyond the checks, and what the lesson says of the real model."""

import ast
import inspect
import math
import random
import re
import tomllib
from datetime import date, timedelta
from itertools import accumulate

import pytest
import torch

from course.kit import ModelUnavailable, load_model, load_tokenizer, paths
from solutions.kv_cache import generate_cached
from solutions.samplers import top_p_probs
from solutions.softmax import log_softmax, softmax
from solutions.steering import (
    StopStrings,
    apply_frequency_presence,
    apply_repetition_penalty,
    beam_search,
    min_p_probs,
    typical_probs,
)

from ..support.passages import assert_said, listed, row

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["steering"]
LESSON = (paths.ROOT / "course" / "day06_steering" / "lesson.md").read_text(encoding="utf-8")


def exact(row: list[float]) -> list[float]:
    weights = [math.exp(x - max(row)) for x in row]
    return [w / math.fsum(weights) for w in weights]


def renormalised(probs: list[float], kept: set[int]) -> list[float]:
    total = math.fsum(probs[i] for i in kept)
    return [p / total if i in kept else 0.0 for i, p in enumerate(probs)]


def rounded(numbers: list[float], like: list[float], digits: int = 4) -> bool:
    """Whether the second are the first, rounded."""
    return all(abs(n - w) <= 0.51 * 10**-digits for n, w in zip(numbers, like, strict=True))


def check_typical(case: dict, probs: list[float]) -> None:
    surprisal = [-math.log(p) for p in probs]
    entropy = math.fsum(p * s for p, s in zip(probs, surprisal, strict=True))
    distance = [abs(s - entropy) for s in surprisal]
    assert rounded(surprisal, case["surprisal"])
    assert rounded([entropy], [case["entropy"]], digits=5)
    assert rounded(distance, case["distance"])
    assert sorted(range(len(probs)), key=distance.__getitem__) == case["order"]


def test_hand_computed_numbers_are_right() -> None:
    case = HAND["min_p"]
    probs = exact(case["logits"])
    for share, name in ((0.1, "01"), (0.02, "002")):
        threshold = share * max(probs)
        assert rounded([threshold], [case[f"threshold_{name}"]], digits=5)
        assert rounded(renormalised(probs, {i for i, p in enumerate(probs) if p >= threshold}), case[f"probs_{name}"])

    case = HAND["typical"]
    probs = exact(case["logits"])
    check_typical(case, probs)
    for name, count in (("probs_095", 2), ("probs_098", 3), ("probs_0995", 4)):
        assert rounded(renormalised(probs, set(case["order"][:count])), case[name])
    case = HAND["typical_without_the_best"]
    check_typical(case, case["probs"])
    assert rounded(renormalised(case["probs"], {1, 2, 3}), case["probs_045"])
    assert rounded(renormalised(case["probs"], {0, 1}), case["top_p_045"])

    case = HAND["repetition_penalty"]
    changed = [x / case["penalty"] if x > 0 else x * case["penalty"] for x in case["logits"]]
    want = [changed[i] if i in case["generated_ids"] else x for i, x in enumerate(case["logits"])]
    assert rounded(want, case["want"], digits=9)
    case = HAND["frequency_presence"]
    counts = [case["generated_ids"].count(i) for i in range(3)]
    want = [x - c * case["frequency"] - (c > 0) * case["presence"] for x, c in zip(case["logits"], counts, strict=True)]
    assert rounded(want, case["want"], digits=9)

    case = HAND["stop_strings"]
    text = "".join(case["pieces"])
    assert "".join(case["emits"]) == text[: text.index(case["stops"][0])]

    case = HAND["beam_tree"]
    for name in ("first", "after_mat", "after_floor", "after_table"):
        assert math.fsum(case[name]) == pytest.approx(1)
    rows = (case["after_mat"], case["after_floor"], case["after_table"])
    products = sorted((p * q for p, row in zip(case["first"], rows, strict=False) for q in row), reverse=True)
    assert products[:3] == pytest.approx(case["best_three"])
    assert products[3] == pytest.approx(0.05412)
    assert rounded([math.log(products[0])], [case["log_prob"]])
    case = HAND["greedy_trap"]
    assert case["first"][0] * max(case["after_0"]) == pytest.approx(case["greedy_prob"])
    assert case["first"][1] * max(case["after_1"]) == pytest.approx(case["best_prob"])
    logs = [math.log(case["greedy_prob"]), math.log(case["best_prob"])]
    assert rounded(logs, [case["greedy_log_prob"], case["best_log_prob"]])
    case = HAND["length_penalty"]
    long = math.log(math.prod(case["long_probs"]))
    numbers = [math.log(case["short_probs"][0]), long, long / 5]
    assert rounded(numbers, [case["short_log_prob"], case["long_log_prob"], case["long_per_token"]])

    case = HAND["two_situations"]
    for name in ("a", "b"):
        probs, threshold = case[f"situation_{name}"], case[f"threshold_{name}"]
        assert 0.1 * max(probs) == pytest.approx(threshold)
        assert sum(p >= threshold for p in probs) == case[f"kept_{name}"]

    checked = {"min_p", "typical", "typical_without_the_best", "repetition_penalty", "frequency_presence"}
    checked |= {"stop_strings", "beam_tree", "greedy_trap", "length_penalty", "two_situations"}
    assert checked == set(HAND), "every entry is recomputed"


def test_the_lesson_quotes_the_hand_computed_numbers() -> None:
    low, typical, unsure, tree, trap, length = (
        HAND[n] for n in ("min_p", "typical", "typical_without_the_best", "beam_tree", "greedy_trap", "length_penalty")
    )
    probs = exact(low["logits"])
    down, up = HAND["repetition_penalty"]["want"][:2]
    most, once = HAND["frequency_presence"]["want"][:2]
    best, second, third = tree["best_three"]
    assert_said(LESSON, [
        f"With min-p 0.1 the threshold is 0.1 × {max(probs):.4f} = {low['threshold_01']}",
        "= {:.4f} and {:.4f} / {:.4f} = {:.4f}.".format(low["probs_01"][3], probs[0], probs[3] + probs[0], low["probs_01"][0]),
        f"The threshold is {low['threshold_002']}, and token 2 with its {probs[2]:.4f}",
        f"just gets in: {listed(low['probs_002'][i] for i in (3, 0, 2))}",
        row("surprisal", typical["surprisal"]),
        row(f"distance from {typical['entropy']:.4f}", typical["distance"]),
        f"Its entropy is {unsure['entropy']:.3f}",
        f"a surprisal of only {unsure['surprisal'][0]:.3f}: it is *less* surprising than you would expect, by {unsure['distance'][0]:.3f}",
        "The order is {}, {}, {}, {}, {}, with running masses {:.2f}, {:.2f}, {:.2f}, {:.2f}, 1".format(
            *unsure["order"], *[*accumulate(unsure["probs"][i] for i in unsure["order"])][:4]),
        f"you keep tokens 1, 2, 3, at {listed(unsure['probs_045'][1:4], 2)}",
        "kept tokens 0 and 1, at {} and {}".format(*unsure["top_p_045"][:2]),
        f"+2.2 becomes 2.2 / 1.1 = {down}, and -2.0 becomes -2.0 × 1.1 = {up}",
        f"3.0 - 4 × 0.1 - 0.2 = {most}, and -1.0 - 0.1 - 0.2 = {once}",
        f"0.6 × 0.35 = {trap['greedy_prob']}",
        f"0.4 × 0.9 = **{trap['best_prob']}**",
        f"| the mat . | 0.82 × 0.60 = {best} | 1 |",
        f"| the floor and | 0.07 × 0.90 = {second} | 2 |",
        f"| the mat and | 0.82 × 0.07 = {third} | 3 |",
        f"| all others | at most {tree['first'][0] * tree['after_mat'][5]:.5f} | out |",
        f"ln {best} = {tree['log_prob']}",
        f"EOS at once has probability {length['short_probs'][0]:.2f}, so {length['short_log_prob']} with one token",
        f"together {math.prod(length['long_probs']):.4f}, so {length['long_log_prob']} with five tokens",
        f"which is {length['long_per_token']} for each",
    ])  # fmt: skip


def test_the_remarks_of_the_lesson_hold() -> None:
    assert rounded([-2.0 / 1.1], [-1.82], digits=2)
    assert rounded([math.exp(0.5)], [1.65], digits=2)
    assert 3 * 0.2 + 0.4 == pytest.approx(1.0)
    assert rounded([math.exp(0.8)], [2.2], digits=1)
    assert 0.005**160 == 0.0  # even in float64
    assert [round(math.exp(x), 2) for x in (math.log(2), 2)] == [2.0, 7.39]  # by how much a presence divides the odds
    stream = StopStrings(["<tool_call>"])  # what stands behind a stop in the same piece is never emitted
    assert [stream.push("_call"), stream.push('<tool_call>{"name"')] == [("_call", False), ("", True)]
    assert stream.push(": 1}") == ("", True)
    assert stream.flush() == ""
    stream = StopStrings(["abc", "bd"])  # question 8
    assert stream.push("xxab") == ("xx", False)
    assert stream.push("d") == ("a", True)
    for pieces in (["abcd"], list("abcd")):  # "ends at bc, after the a", however it comes
        stream = StopStrings(["abcd", "bc"])
        assert "".join(stream.push(piece)[0] for piece in pieces) == "a"
    assert re.search("abcd|bc", "abcd")[0] == "abcd"  # type: ignore[index]
    assert next(text for end in range(5) if (text := "abcd"[:end]).endswith(("abcd", "bc"))) == "abc"


def test_the_optional_sections_are_used_by_no_later_day() -> None:
    for lesson in sorted(paths.ROOT.glob("course/day*/lesson.md")):
        if "day06" not in str(lesson):
            assert not re.search(r"earlier\(.steering.\)\.(beam_search)", lesson.read_text(encoding="utf-8")), lesson


def test_the_beginnings_of_dates_are_as_many_as_the_lesson_counts() -> None:
    days = [str(date(2000, 1, 1) + timedelta(n)) for n in range(36_525)]
    assert days[-1] == "2099-12-31"
    counts = [len({day[:length] for day in days}) for length in range(1, 11)]
    assert f"enumerate(({', '.join(f'{count:_}' if count > 9999 else str(count) for count in counts)}, 0), start=1)" in LESSON


# ---- beyond the checks ---------------------------------------------------------------------------------------------


def test_settings_that_mean_nothing_are_named() -> None:
    logits, ids = torch.zeros(1, 4), torch.zeros(1, 1, dtype=torch.int64)
    for call, value in (
        (lambda: min_p_probs(logits, 1.5), "1.5"),
        (lambda: min_p_probs(logits, -0.1), "-0.1"),
        (lambda: typical_probs(logits, 0.0), "0.0"),
        (lambda: typical_probs(logits, 1.2), "1.2"),
        (lambda: apply_repetition_penalty(logits, ids, 0.0), "0.0"),
        (lambda: StopStrings(["a", ""]), r"\['a', ''\]"),
        (lambda: beam_search(lambda ids: logits[ids], ids, beams=0, max_new_tokens=1), "0"),
    ):
        with pytest.raises(ValueError, match=f"got {value}$"):
            call()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_dtype_is_kept(dtype: torch.dtype) -> None:
    logits, ids = torch.randn(2, 7, dtype=dtype), torch.tensor([[1, 1], [0, 6]])
    for result in (apply_repetition_penalty(logits, ids, 1.3), apply_frequency_presence(logits, ids, 0.1, 0.2)):
        assert result.dtype == dtype
    for result in (min_p_probs(logits, 0.1), typical_probs(logits, 0.9)):
        assert result.dtype == torch.promote_types(dtype, torch.float32)  # probabilities need the digits


def test_the_order_in_transformers() -> None:
    """What the lesson says of the order: penalties, temperature, top-k, top-p, min-p, typical."""
    utils = pytest.importorskip("transformers.generation.utils")
    source = inspect.getsource(utils.GenerationMixin._get_logits_processor)
    names = ["RepetitionPenaltyLogits", "TemperatureLogits", "TopKLogits", "TopPLogits", "MinPLogits", "TypicalLogits"]
    places = [re.search(rf"(?<!Encoder){name}", source).start() for name in names]  # type: ignore[union-attr]
    assert places == sorted(places)


@pytest.mark.slow
def test_beams_repeat_themselves_as_the_lesson_says() -> None:
    tiny = load_model("tiny")
    openings = re.search(r"^openings = (\[.*?\])$", LESSON, flags=re.M)
    assert openings is not None
    shares = {}
    for beams in (1, 4):
        shares[beams] = []
        for opening in ast.literal_eval(openings[1]):
            idx = torch.tensor([tiny.tokenizer.encode(opening)])
            new = beam_search(tiny, idx, beams=beams, max_new_tokens=64)[0][0, idx.shape[1] :].tolist()
            runs = [tuple(new[i : i + 3]) for i in range(len(new) - 2)]
            shares[beams].append(len(set(runs)) / len(runs))
    means = [f"{sum(shares[beams]) / len(shares[beams]):.2f}" for beams in (1, 4)]
    assert means == ["0.59", "0.45"]
    assert "from 0.59 with one beam to 0.45 with four" in LESSON


def test_equal_to_transformers() -> None:
    process = pytest.importorskip("transformers.generation.logits_process")
    generator = torch.Generator().manual_seed(3)
    for _ in range(20):
        logits = 3 * torch.randn(4, 50, generator=generator)
        ids = torch.randint(0, 50, (4, 12), generator=generator)
        want = process.MinPLogitsWarper(0.07)(ids, logits).softmax(-1)
        torch.testing.assert_close(min_p_probs(logits, 0.07), want)
        want = process.TypicalLogitsWarper(0.8)(ids, logits).softmax(-1)
        torch.testing.assert_close(typical_probs(logits, 0.8), want)
        want = process.RepetitionPenaltyLogitsProcessor(1.3)(ids, logits)
        torch.testing.assert_close(apply_repetition_penalty(logits, ids, 1.3), want)


def test_what_comes_out_of_a_stream_does_not_depend_on_the_cuts() -> None:
    """Stops inside one another too: the one that is complete first wins, however the text arrives."""
    rng = random.Random(0)
    for _ in range(2000):
        stops = ["".join(rng.choices("ab", k=rng.randint(1, 4))) for _ in range(rng.randint(0, 3))]
        text = "".join(rng.choices("abc", weights=(4, 4, 1), k=12))
        outcomes = set()
        for _ in range(4):
            cuts = sorted(rng.choices(range(13), k=rng.randint(0, 12)))
            stream, out, stopped = StopStrings(stops), "", False
            for start, end in zip([0, *cuts], [*cuts, 12], strict=True):
                emit, stopped = stream.push(text[start:end])
                out += emit
            outcomes.add((out + stream.flush(), stopped))
        assert len(outcomes) == 1
        (out, stopped) = outcomes.pop()
        assert stopped == any(s in text for s in stops)
        assert text.startswith(out)
        assert stopped or out == text


def test_no_new_tokens_is_the_prompt() -> None:
    idx = torch.tensor([[3, 1]])
    ids, log_prob = beam_search(lambda ids: torch.zeros(*ids.shape, 5), idx, beams=3, max_new_tokens=0, length_penalty=1.0)
    assert ids.tolist() == [[3, 1]]
    assert log_prob == 0.0


def test_beam_search_records_no_gradient() -> None:
    table = torch.randn(5, 5, requires_grad=True)
    ids, log_prob = beam_search(lambda ids: table[ids], torch.tensor([[0]]), beams=2, max_new_tokens=3)
    assert isinstance(log_prob, float)
    assert ids.shape == (1, 4)
    assert ids.dtype == torch.int64


# ---- the real model ------------------------------------------------------------------------------------------------


def test_the_tokens_of_the_lesson() -> None:
    tokenizer = load_tokenizer("smollm2")
    pieces = [tokenizer.decode([i]) for i in tokenizer.encode("5. grape\n6. lemon")]
    assert pieces == ["5", ".", " grape", "\n", "6", ".", " lemon"]
    forbidden = sum("e" in token_text.lower() for token_text in map(tokenizer.decode, ([i] for i in range(49152))))
    assert forbidden > 49152 / 2  # "more than half of all tokens"
    assert "e" in tokenizer.decode([tokenizer.eos_token_id])


@pytest.mark.slow
def test_the_real_model_does_what_the_lesson_says() -> None:
    try:
        model = load_model("smollm2")
    except ModelUnavailable as error:
        pytest.skip(f"SmolLM2 is not here: {error}")
    encode, decode = model.tokenizer.encode, model.tokenizer.decode

    def logits(text: str) -> torch.Tensor:
        with torch.no_grad():
            return model(torch.tensor([encode(text)]))[0]

    market, sentence = "I went to the market and I bought", " I bought a few things."
    text = market + " a few things." + 9 * sentence
    own = log_softmax(logits(text))[:-1].gather(-1, torch.tensor(encode(text))[1:, None])[-54:].view(9, 6)
    assert [round(float(row.sum().exp()), 3) for row in (own[0], own[8])] == pytest.approx([0.002, 0.478], abs=2e-3)
    # greedy does write it: every token of the first repetition is the best one
    first = logits(market + " a few things." + sentence)[-7:-1].argmax(dim=-1).tolist()
    assert first == encode(sentence)
    ids = torch.tensor([encode(market)])
    written = decode(generate_cached(model, ids, max_new_tokens=260, block_size=8192, temperature=0.0)[0].tolist())
    assert (market + " a few things." + 60 * sentence).startswith(written)  # "After 260 tokens it is still buying"

    kept = {}
    for prompt in re.findall(r'"([^"]+)"', LESSON.split("\nprompts = [")[1].split("]")[0]):
        row = logits(prompt)[-1:]
        kept[prompt] = int((top_p_probs(row, 0.9) > 0).sum()), int((min_p_probs(row, 0.1) > 0).sum())
    assert kept["The capital of France is"][1] == 1
    assert kept["My name is"][0] > 1000
    assert kept["My name is"][1] < 20
    name = softmax(logits("My name is")[-1:])
    far = name[(top_p_probs(logits("My name is")[-1:], 0.9) > 0) & (name < name.max() / 300)]
    assert len(far) > 1000  # "many that it finds hundreds of times worse than its best"

    idx = torch.tensor([encode("It was a dark and stormy night, and")])
    found = {beams: beam_search(model, idx, beams=beams, max_new_tokens=10) for beams in (1, 2, 4)}
    scores = {beams: log_prob for beams, (_, log_prob) in found.items()}
    assert scores[2] < scores[1] < scores[4]  # two beams find less than greedy, four find more
    assert decode(found[4][0][0].tolist()).endswith("the wind was howling like a pack of wolves")
