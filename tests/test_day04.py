"""The numbers of the decoder day: worked out by hand, quoted in the lesson, or said of the real model."""

import math
import re
import tomllib
from dataclasses import replace

import pytest
import torch

from course.kit import Model, ModelUnavailable, WeightsOnly, load_model, paths
from course.kit.weights import layer_shapes
from solutions.softmax import softmax
from solutions.transformer import feed_forward, forward, rms_norm

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["transformer"]
LESSON = (paths.ROOT / "course" / "day04_transformer" / "lesson.md").read_text(encoding="utf-8")


def dot(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def silu(z: float) -> float:
    return z / (1 + math.exp(-z))


def near(got: list[float], want: list[float]) -> bool:
    return all(math.isclose(g, w, rel_tol=0, abs_tol=5.1e-5) for g, w in zip(got, want, strict=True))


def test_hand_computed_numbers_are_right() -> None:
    norms = {name for name in HAND if name.startswith("rms_norm")}
    for name in norms:
        case = HAND[name]
        mean = math.fsum(v * v for v in case["x"]) / len(case["x"])
        assert near(case["normed"], [v / math.sqrt(mean + case["eps"]) * w for v, w in zip(case["x"], case["weight"], strict=True)])
        if "eps_outside" in case:
            assert near(case["eps_outside"], [v / (math.sqrt(mean) + case["eps"]) for v in case["x"]])
    case = HAND["silu"]
    assert near(case["silu"], [silu(z) for z in case["z"]])
    case = HAND["feed_forward"]
    inner = [silu(dot(g, case["x"])) * dot(u, case["x"]) for g, u in zip(case["gate"], case["up"], strict=True)]
    assert near(case["output"], [dot(row, inner) for row in case["down"]])
    case = HAND["residual"]
    assert near(case["right"], [a + b for a, b in zip(case["x"], case["update"], strict=True)])
    assert near(case["around_the_norm"], [a + b for a, b in zip(HAND["rms_norm_3_4"]["normed"], case["update"], strict=True)])
    case = HAND["tied_head"]
    assert near(case["logits"], [dot(row, case["x"]) for row in case["rows"]])
    case = HAND["smollm2_parameters"]
    D, V, H, K, Dh, F, L = 576, 49152, 9, 3, 64, 1536, 30
    assert case["embedding"] == V * D
    assert case["attention"] == D * Dh * (2 * H + 2 * K)
    assert case["feed_forward"] == 3 * F * D
    assert case["layer"] == case["attention"] + case["feed_forward"] + 2 * D
    assert case["layers"] == L * case["layer"]
    assert case["total"] == case["embedding"] + case["layers"] + D
    done = {"silu", "feed_forward", "residual", "tied_head", "smollm2_parameters"} | norms
    assert done == set(HAND), "every entry is recomputed"


def test_the_reference_gives_the_hand_computed_numbers() -> None:
    for case in (HAND[name] for name in HAND if name.startswith("rms_norm")):
        normed = rms_norm(torch.tensor(case["x"], dtype=torch.float64), torch.tensor(case["weight"], dtype=torch.float64), case["eps"])
        assert near(normed.tolist(), case["normed"])
    case = HAND["feed_forward"]
    x, gate, up, down = (torch.tensor(case[name], dtype=torch.float64) for name in ("x", "gate", "up", "down"))
    assert near(feed_forward(x.view(1, 1, 2), gate, up, down).flatten().tolist(), case["output"])


def test_the_lesson_quotes_the_hand_computed_numbers() -> None:
    numbers = [*HAND["rms_norm_3_4"]["normed"], *HAND["rms_norm_weighted"]["normed"], *HAND["rms_norm_small"]["normed"]]
    numbers += [*HAND["rms_norm_small"]["eps_outside"], *HAND["silu"]["silu"][:3], *HAND["feed_forward"]["output"]]
    numbers += HAND["residual"]["around_the_norm"]
    quoted = [f"{abs(n):.4f}" for n in numbers] + [f"{n:,}" for key, n in HAND["smollm2_parameters"].items() if key != "derivation"]
    assert [q for q in quoted if q not in LESSON] == []
    assert math.isclose(math.sqrt(1.25e-5 + 1e-5), 0.0047434, abs_tol=5e-8)
    assert math.isclose(math.sqrt(1.25e-5) + 1e-5, 0.0035455, abs_tol=5e-8)


def test_the_remarks_of_the_lesson_hold() -> None:
    case = HAND["smollm2_parameters"]
    assert case["embedding"] / case["total"] > 1 / 5  # "more than a fifth"
    assert round(case["feed_forward"] / case["layer"], 2) == 0.75  # "three quarters of every layer"
    assert 30 * 1536 == 46_080
    assert torch.finfo(torch.float16).max == 65_504
    assert torch.tensor(300.0, dtype=torch.float16).square().isinf()
    assert torch.finfo(torch.bfloat16).eps == 2.0**-7  # 8 significant bits


def test_a_layer_that_adds_nothing_returns_its_input() -> None:
    tiny = load_model("tiny")
    quiet = [
        replace(layer, o_proj=torch.zeros_like(layer.o_proj), down_proj=torch.zeros_like(layer.down_proj)) for layer in tiny.weights.layers
    ]
    silent = WeightsOnly(tiny.config, replace(tiny.weights, layers=quiet), lambda: tiny.tokenizer)
    empty = WeightsOnly(tiny.config, replace(tiny.weights, layers=[]), lambda: tiny.tokenizer)
    ids = torch.arange(10)[None]
    assert torch.equal(forward(silent, ids), forward(empty, ids))


@pytest.fixture(scope="module")
def smollm2() -> Model:
    try:
        return load_model("smollm2")
    except ModelUnavailable as error:
        pytest.skip(f"SmolLM2 is not here: {error}")


@pytest.mark.slow
def test_the_real_model_has_the_parameters_counted_by_hand(smollm2: Model) -> None:
    case = HAND["smollm2_parameters"]
    assert smollm2.num_parameters == case["total"]
    shapes = layer_shapes(smollm2.config)
    assert sum(math.prod(shape) for shape in shapes.values()) == case["layer"]


@pytest.mark.slow
def test_the_real_model_knows_the_capital(smollm2: Model) -> None:
    logits = forward(smollm2, torch.tensor([smollm2.tokenizer.encode("The capital of France is")]))[0, -1]
    best = [smollm2.tokenizer.decode([int(token)]) for token in logits.topk(5).indices]
    assert best == [" Paris", " the", " London", " Le", " New"]
    assert round(softmax(logits).max().item(), 2) == 0.77


@pytest.mark.slow
def test_the_answer_climbs_in_the_last_layers(smollm2: Model) -> None:
    prompts = re.findall(r'^    "(.+)": "( \w+)",$', LESSON, flags=re.M)
    assert len(prompts) == 3
    for prompt, answer in prompts:
        ids = torch.tensor([smollm2.tokenizer.encode(prompt)])
        (target,) = smollm2.tokenizer.encode(answer)
        rank = {}
        for n in (0, 10, 20, 22, 30):
            weights = replace(smollm2.weights, layers=smollm2.weights.layers[:n])
            logits = forward(WeightsOnly(smollm2.config, weights, lambda: smollm2.tokenizer), ids)[0, -1]
            rank[n] = 1 + int((logits > logits[target]).sum())
            if n == 0:
                assert int(logits.argmax()) == int(ids[0, -1])  # tied weights: the token itself
        assert rank[30] == 1
        assert min(rank[n] for n in (10, 20, 22)) > 500


@pytest.mark.slow
def test_the_river_leaves_the_money(smollm2: Model) -> None:
    found = re.search(r"^SENTENCES = \((.+)\)$", LESSON, flags=re.M)
    assert found
    ids = torch.tensor([smollm2.tokenizer.encode(text) for text in re.findall(r'"(.+?)"', found[1])])
    D = smollm2.config.hidden_size
    shown = replace(smollm2.weights, norm=torch.ones(D), lm_head=torch.eye(D))
    for n, apart in ((0, False), (9, True), (30, True)):
        weights = replace(shown, layers=shown.layers[:n])
        river, money, savings = forward(WeightsOnly(smollm2.config, weights, lambda: smollm2.tokenizer), ids)[:, -1]
        across, within = (torch.cosine_similarity(other, money, dim=0).item() for other in (river, savings))
        assert (across < 0.85) == apart
        assert within > 0.95


@pytest.mark.slow
def test_the_columns_read_like_entries(smollm2: Model) -> None:
    head = smollm2.weights.lm_head * smollm2.weights.norm
    for layer, number, sign, token in (
        (29, 864, -1, " France"),
        (29, 1308, -1, " seven"),
        (29, 808, 1, " dog"),
        (24, 1005, -1, " capitals"),
    ):
        assert f"({layer}, {number}, {sign})" in LESSON
        best = (head @ (sign * smollm2.weights.layers[layer].down_proj[:, number])).topk(8).indices.tolist()
        assert smollm2.tokenizer.encode(token)[0] in best
