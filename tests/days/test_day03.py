"""The numbers of the attention day: worked out by hand, quoted in the lesson, or said of the real model."""

import math
import re
import tomllib

import pytest
import torch
from torch import Tensor

from autograder.base.verdicts import PASS
from autograder.checking.runner import run_checks, select
from autograder.sandbox.process.local import LocalStudent
from course.kit import Model, ModelUnavailable, load_model, paths
from course.kit.steppers.attention_maps import best_head, queries_and_keys, without_heads
from solutions.attention import attention, causal_mask, merge_heads, rotary, sinusoidal_positions, split_heads
from solutions.softmax import softmax

from ..support.passages import assert_said, listed

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["attention"]
LESSON = (paths.ROOT / "course" / "day03_attention" / "lesson.md").read_text(encoding="utf-8")


def dot(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def turned(x: list[float], position: float, base: float) -> list[float]:
    """The rotate-half form by plain arithmetic."""
    half = len(x) // 2
    angles = [position * base ** (-2 * j / len(x)) for j in range(half)]
    first = [x[j] * math.cos(a) - x[j + half] * math.sin(a) for j, a in enumerate(angles)]
    return first + [x[j + half] * math.cos(a) + x[j] * math.sin(a) for j, a in enumerate(angles)]


def averages(case: dict, causal: bool) -> tuple[list[list[float]], list[list[float]]]:
    """(weights, outputs) of single-headed attention by plain arithmetic."""
    weights, outputs = [], []
    for i, q in enumerate(case["q"]):
        seen = len(case["k"]) if not causal else i + 1
        powers = [math.exp(dot(q, k) / math.sqrt(len(q))) for k in case["k"][:seen]]
        row = [p / math.fsum(powers) for p in powers] + [0.0] * (len(case["k"]) - seen)
        weights.append(row)
        outputs.append([dot(row, [v[d] for v in case["v"]]) for d in range(len(case["v"][0]))])
    return weights, outputs


def same(got: list, want: list, places: float = 5.1e-5) -> bool:
    return torch.allclose(torch.tensor(got, dtype=torch.float64), torch.tensor(want, dtype=torch.float64), atol=places, rtol=0)


def test_hand_computed_numbers_are_right() -> None:
    done = set()
    for causal, name in ((False, "three_tokens"), (True, "three_tokens_causal")):
        weights, outputs = averages(HAND["three_tokens"], causal)
        assert same(HAND[name]["weights"], weights)
        assert same(HAND[name]["output"], outputs)
        done.add(name)
    for name in ("rotary_unit", "rotary_one_pair", "rotary_two_pairs", "rotary_base_100"):
        case = HAND[name]
        assert same(case["turned"], turned(case["x"], case["position"], case.get("base", 10000.0)))
        done.add(name)
    case = HAND["rotary_scores"]
    assert same(case["scores"], [math.cos(m - n) for m, n in case["positions"]])
    rows = [[f(t / 10000 ** (2 * i / 4)) for i in range(2) for f in (math.sin, math.cos)] for t in range(2)]
    assert same(HAND["sinusoids_d4"]["rows"], rows)
    case = HAND["mask_two_of_five"]
    assert case["mask"] == [[j <= case["k_len"] - case["q_len"] + i for j in range(5)] for i in range(2)]
    case = HAND["split_two_heads"]
    assert case["heads"] == [[token[2 * h : 2 * h + 2] for token in case["x"]] for h in range(2)]
    case = HAND["grouped_heads"]
    assert case["output"] == [case["values"][h // 2] for h in range(4)]
    done |= {"rotary_scores", "sinusoids_d4", "mask_two_of_five", "split_two_heads", "grouped_heads"}
    assert done == set(HAND), "every entry is recomputed"


def test_the_reference_gives_the_hand_computed_numbers() -> None:
    case = HAND["three_tokens"]
    q, k, v = (torch.tensor(case[name], dtype=torch.float64)[None, None] for name in "qkv")
    assert same(attention(q, k, v)[0, 0].tolist(), case["output"])
    assert same(attention(q, k, v, causal_mask(3, 3))[0, 0].tolist(), HAND["three_tokens_causal"]["output"])
    assert same(sinusoidal_positions(2, 4).tolist(), HAND["sinusoids_d4"]["rows"])
    case = HAND["rotary_two_pairs"]
    assert same(rotary(torch.tensor(case["x"]).view(1, 1, 1, 4), torch.tensor([1])).flatten().tolist(), case["turned"])


def test_the_lesson_quotes_the_hand_computed_numbers() -> None:
    def four(*numbers: float) -> str:
        return listed(numbers, minus="−")

    case, causal = HAND["three_tokens"], HAND["three_tokens_causal"]
    weights, outputs, times = case["weights"], case["output"], ("(4, 0)", "(0, 2)", "(1, 1)")
    scaled = [dot(case["q"][2], k) / math.sqrt(2) for k in case["k"]]
    powers = [math.exp(x) for x in scaled]
    first, second, third, fourth = HAND["sinusoids_d4"]["rows"][1]
    a, b, c, d = HAND["rotary_two_pairs"]["turned"]
    cos, sin = HAND["rotary_unit"]["turned"]
    assert_said(LESSON, [
        f"Divide by √2 = {math.sqrt(2):.4f}: {four(*scaled)}.",
        f"Exponentials {four(*powers)} with the sum {math.fsum(powers):.4f}. Divided: **{four(*weights[2])}**",
        " + ".join(f"{w:.4f} · {v}" for w, v in zip(weights[2], times, strict=True)) + f" = **({four(*outputs[2])})**",
        f"so the weights are {four(*weights[0])} and the output is ({four(*outputs[0])})",
        f"the weights {four(*weights[1])}, the output ({four(*outputs[1])})",
        "weights {:.4f} and {:.4f}. Output: ({})".format(*causal["weights"][1][:2], four(*causal["output"][1])),
        f"| 1 | {first:.4f} | {second:.4f} | {third:.4f} | {fourth:.5f} |",
        f"(cos 1, sin 1) = **({four(cos, sin)})**",
        *(
            f"| {m} | {n} | {m - n} | {four(score)} |"
            for (m, n), score in zip(HAND["rotary_scores"]["positions"], HAND["rotary_scores"]["scores"], strict=True)
        ),
        f"1 · {cos} − 3 · {sin} = {four(a)} and 3 · {cos} + 1 · {sin} = {four(c)}",
        f"2 · {fourth:.5f} − 4 · 0.01 = {four(b)} and 4 · {fourth:.5f} + 2 · 0.01 = {four(d)}",
        f"**({four(a, b, c, d)})**",
    ])  # fmt: skip


def test_the_remarks_of_the_lesson_hold() -> None:
    assert 13 // (32 // 8) == 3
    assert causal_mask(3, 10)[0].sum() == 8
    assert 10_000 < 2 * math.pi * 10000 ** (510 / 512) < 100_000  # "tens of thousands" of tokens for the last of many pairs
    assert torch.tensor(257, dtype=torch.bfloat16) == 256 == torch.tensor(256, dtype=torch.bfloat16)
    assert torch.tensor(258, dtype=torch.bfloat16) == 258
    x = torch.randn(1, 1, 6, 8, generator=torch.Generator().manual_seed(0))
    swapped = x[:, :, [0, 2, 1, 3, 4, 5]]
    assert torch.allclose(attention(x, x, x)[:, :, -1], attention(swapped, swapped, swapped)[:, :, -1], atol=1e-6)


def test_the_score_of_ones_climbs_again() -> None:
    def score(distance: int) -> float:
        return math.fsum(2 * math.cos(distance * 100_000.0 ** (-2 * j / 64)) for j in range(32))

    assert (score(0), f"{score(22):.2f}", f"{score(37):.2f}") == (64, "38.73", "45.35")
    assert "22 and 37, for one, with 38.73 and 45.35" in LESSON
    assert score(2_000) < score(22), "over long stretches it does sink"


def test_the_rows_of_sinusoids_are_turns_of_each_other() -> None:
    table, angles = sinusoidal_positions(64, 32).double(), 3 / 10000 ** (torch.arange(0, 32, 2, dtype=torch.float64) / 32)
    pairs = torch.complex(table[:, 1::2], table[:, 0::2])  # cosine + i sine, so that a turn is a product
    torch.testing.assert_close(pairs[:-3] * torch.exp(1j * angles), pairs[3:], atol=1e-5, rtol=0)


def test_the_sum_mended_after_the_softmax_passes_all_visible_checks_but_one() -> None:
    def colleagues(q, k, v, mask=None):
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
        weights = softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]))
        if mask is not None:
            weights = weights * mask
            weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights @ v

    checks = select("attention", exercise="attention", hidden=False, timing=False)
    passed = [v.outcome == PASS for v in run_checks("attention", checks, LocalStudent({"attention": colleagues}))]
    assert (sum(passed), len(passed)) == (14, 15)
    assert "Fourteen of the fifteen checks that you can read" in LESSON


def test_a_larger_base_keeps_more_pairs_inside_one_turn() -> None:
    inside = {base: sum(8192 * base ** (-2 * j / 64) < 2 * math.pi for j in range(32)) for base in (1e4, 1e5)}
    assert inside == {1e4: 7, 1e5: 12}
    assert "12 pairs instead of 7" in LESSON


def test_keys_and_values_outgrow_the_weights() -> None:
    """The lesson's words on why heads share them; the cell computes the figures."""
    weights, text = 134_515_008 * 2, 8192 * 2 * 30 * 3 * 64 * 2
    assert text < weights < 16 * text


def test_pairs_of_neighbours_are_halves_in_another_order() -> None:
    generator = torch.Generator().manual_seed(7)
    q, k = torch.randn(2, 1, 1, 1, 8, generator=generator, dtype=torch.float64)
    to_halves = torch.cat((torch.arange(0, 8, 2), torch.arange(1, 8, 2)))

    def neighbours(x: Tensor, position: int) -> Tensor:
        pairs = torch.view_as_complex(x.view(1, 1, 1, 4, 2))
        angles = position * 10000.0 ** (-torch.arange(4, dtype=torch.float64) / 4)
        return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)

    paper = (neighbours(q, 10) * neighbours(k, 3)).sum()
    halves, as_stored = (
        (rotary(a, torch.tensor([10])) * rotary(b, torch.tensor([3]))).sum() for a, b in ((q[..., to_halves], k[..., to_halves]), (q, k))
    )
    assert torch.allclose(paper, halves)
    assert not torch.allclose(paper, as_stored, atol=0.1)


def weights_of(model: Model, ids: Tensor) -> list[Tensor]:
    """The lesson's trick: attention over values that are 1 at one place. (L) tensors (B, H, T, T), for any T."""
    T, config = ids.shape[1], model.config
    one_hot = torch.eye(T).expand(len(ids), config.num_key_value_heads, T, T)
    where = torch.arange(T)
    maps = []
    for q, k in queries_and_keys(model, ids):
        q, k = rotary(q, where, config.rope_theta), rotary(k, where, config.rope_theta)
        maps.append(attention(q, k, one_hot, causal_mask(T, T)))
    return maps


@pytest.mark.slow
def test_the_maps_are_those_of_transformers() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is the oracle of this test")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(paths.DATASETS / "tiny", attn_implementation="eager")
    model = load_model("tiny")
    ids = torch.tensor([model.tokenizer.encode("Shall I compare thee to a summer's day? Thou art more lovely and more temperate." * 2)])
    assert ids.shape[1] > model.config.head_dim
    with torch.no_grad():
        want = theirs(ids, output_attentions=True).attentions
    got = weights_of(model, ids)
    assert len(got) == len(want) == model.config.num_hidden_layers
    for mine, other in zip(got, want, strict=True):
        assert torch.allclose(mine, other, atol=1e-5)


def test_a_head_without_its_output_says_nothing() -> None:
    model = load_model("tiny")
    config = model.config
    originals = [layer.o_proj.clone() for layer in model.weights.layers]
    variant = without_heads(model, [(1, 0), (1, 3), (4, 2)])
    silenced = [split_heads(layer.o_proj[None], config.num_attention_heads) for layer in variant.weights.layers]
    for index, layer in enumerate(silenced):
        quiet = {head for head in range(config.num_attention_heads) if not layer[0, head].any()}
        assert quiet == {1: {0, 3}, 4: {2}}.get(index, set())
    assert all(torch.equal(layer.o_proj, old) for layer, old in zip(model.weights.layers, originals, strict=True))
    assert variant.weights.layers[0].o_proj is model.weights.layers[0].o_proj
    assert torch.equal(merge_heads(silenced[0])[0], originals[0])


@pytest.fixture(scope="module")
def smollm2() -> Model:
    try:
        return load_model("smollm2")
    except ModelUnavailable as error:
        pytest.skip(f"SmolLM2 is not here: {error}")


@pytest.mark.slow
def test_nothing_comes_back_to_it(smollm2: Model) -> None:
    found = re.search(r'CUP = "(.+)"', LESSON)
    assert found
    ids = torch.tensor([smollm2.tokenizer.encode(found[1].format(size)) for size in ("large", "small")])
    with torch.no_grad():
        large, small = smollm2(ids)
    differ = (large != small).any(dim=-1)
    words = [smollm2.tokenizer.decode([token]) for token in ids[0].tolist()]
    assert not differ[: words.index(" large")].any()
    assert differ[words.index(" large") :].all()
    answers = []
    for size in ("large", "small"):
        text = found[1].format(size) + f" So the thing that is too {size} is the"
        with torch.no_grad():
            logits = smollm2(torch.tensor([smollm2.tokenizer.encode(text)]))[0, -1]
        answers.append(max((" cup", " box"), key=lambda word: logits[smollm2.tokenizer.encode(word)[0]]))
    assert answers == [" cup", " cup"]


@pytest.mark.slow
def test_the_four_heads_spell_most_names(smollm2: Model) -> None:
    found, names = re.search(r'LANDLADY = "(.+)"', LESSON), re.search(r"NAMES = \((.+)\)", LESSON)
    assert found
    assert names
    without = without_heads(smollm2, [(17, 4), (18, 6), (17, 5), (18, 7)])
    lost = []
    for name in re.findall(r'"(\w+)"', names[1]):
        ids = smollm2.tokenizer.encode(found[1].replace("Brimblecoate", name))
        with torch.no_grad():
            with_all, with_fewer = (model(torch.tensor([ids]))[0, -2].softmax(-1)[ids[-1]].item() for model in (smollm2, without))
        if with_fewer < with_all / 4:
            lost.append(name)
    assert lost == ["Brimblecoate", "Plimsworthy", "Vexatrinol", "Zorblatt"]


@pytest.mark.slow
def test_real_heads_are_sharper_and_flatter_than_random_ones(smollm2: Model) -> None:
    ids = torch.tensor(
        [smollm2.tokenizer.encode("The river rises in the hills, runs past three old mills, and meets the sea below the harbour.")]
    )
    where = torch.arange(ids.shape[1])
    spreads = []
    for q, k in queries_and_keys(smollm2, ids):
        q, k = (rotary(x, where, smollm2.config.rope_theta) for x in (q, k))
        scores = q @ k.repeat_interleave(3, dim=1).mT / 8
        spreads += [head[causal_mask(len(where), len(where))].std().item() for head in scores[0]]
    assert min(spreads) < 1
    assert 1.5 < sorted(spreads)[135] < 2.5
    assert max(spreads) > 8


@pytest.mark.slow
def test_the_real_model_does_what_the_lesson_says(smollm2: Model) -> None:
    model = smollm2
    found = re.search(r'LANDLADY = "(.+)"', LESSON)
    assert found
    ids = model.tokenizer.encode(found[1])
    pieces = [model.tokenizer.decode([i]) for i in ids]
    maps = torch.stack(weights_of(model, torch.tensor([ids])))[:, 0]

    def read(head: tuple[int, int], token: str) -> str:
        """What this head reads most at the last occurrence of a token."""
        at = len(pieces) - 1 - pieces[::-1].index(token)
        return pieces[int(maps[head[0], head[1], at].argmax())]

    assert [read((17, 4), token) for token in (" morning", "rim", "ble", "co")] == [" I", "ble", "co", "ate"]
    assert maps[17, 4, 4:19, 0].min() > 0.8  # it rests on the first token until "morning" comes back
    repeats = [(i, ids.index(ids[i]) + 1) for i in range(1, len(ids)) if ids.index(ids[i]) < i - 1]
    echo = torch.stack([maps[:, :, i, then] for i, then in repeats]).mean(0)
    assert best_head(echo) == (17, 4)
    assert maps.shape[:2] == (30, 9)
    assert maps[12:, :, 4:, 0].mean() > 0.5
    assert maps[16, 0].diagonal(-1)[1:].mean() > 0.5
    assert maps[18, 8, 4:, 0].mean() > 0.9

    ranked = sorted(((layer, head) for layer in (17, 18) for head in range(9)), key=lambda place: -echo[place])
    name = range(len(ids) - 4, len(ids))

    def spelled(variant: Model) -> list[float]:
        with torch.no_grad():
            probs = variant(torch.tensor([ids]))[0].softmax(-1)
        return [probs[i - 1, ids[i]].item() for i in name]

    assert min(spelled(model)) > 0.8
    assert max(spelled(without_heads(model, ranked[:4]))[2:]) < 0.02
    assert min(spelled(without_heads(model, ranked[-4:]))) > 0.8
