"""The numbers of the softmax day: worked out by hand, quoted in the lesson, or said of the real model."""

import math
import re
import tomllib

import pytest
import torch

from course.kit import ModelUnavailable, load_model, paths
from solutions.softmax import entropy, log_softmax, softmax

from ..support.passages import assert_said, listed, row

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["softmax"]
LESSON = (paths.ROOT / "course" / "day01_softmax" / "lesson.md").read_text(encoding="utf-8")


def exact(row: list[float]) -> list[float]:
    """Probabilities of one row, by the formula, with the gaps to the maximum."""
    weights = [math.exp(x - max(row)) for x in row]
    return [w / math.fsum(weights) for w in weights]


def nats(probs: list[float]) -> float:
    return math.fsum(-p * math.log(p) for p in probs if p > 0)


def rounded(numbers: list[float], like: list[float]) -> bool:
    """Whether every number is the other one rounded to at least four significant digits or to four decimals."""
    return all(math.isclose(n, w, rel_tol=6e-5, abs_tol=5.1e-5) or n == w for n, w in zip(numbers, like, strict=True))


def flat(values: list) -> list[float]:
    return [x for row in values for x in row] if isinstance(values[0], list) else values


@pytest.mark.parametrize("name", [n for n, case in HAND.items() if "logits" in case])
def test_hand_computed_rows_are_right(name: str) -> None:
    case = HAND[name]
    rows = case["logits"] if isinstance(case["logits"][0], list) else [case["logits"]]
    probs = flat([exact(row) for row in rows])
    totals = [max(row) + math.log(math.fsum(math.exp(x - max(row)) for x in row)) for row in rows]
    want = {
        "probs": probs,
        "log_probs": [x - total for row, total in zip(rows, totals, strict=True) for x in row],
        "exponentials": [math.exp(x) if x < 700 else math.inf for x in rows[0]],
        "entropy": [nats(probs)],
        "perplexity": [math.exp(nats(probs))],
    }
    numbers = set(case) - {"derivation", "logits", "words"}
    assert numbers
    assert numbers <= set(want), "every number of an entry is recomputed"
    for key in numbers:
        assert rounded(flat(case[key]) if isinstance(case[key], list) else [case[key]], want[key]), key


def test_hand_computed_rest_is_right() -> None:
    case = HAND["gaps_to_odds"]
    assert rounded(case["odds"], [math.exp(gap) for gap in case["gaps"]])
    case = HAND["entropies"]
    assert rounded(case["entropy"], [nats(row) for row in case["probs"]])
    case = HAND["largest_exponent"]
    assert rounded(case["largest"], [math.log(torch.finfo(getattr(torch, d)).max) for d in case["dtypes"]])
    case = HAND["hundred_tokens"]
    assert rounded([case["log_prob"]], [case["count"] * math.log(case["prob"])])
    without_logits = {name for name, case in HAND.items() if "logits" not in case}
    assert without_logits == {"gaps_to_odds", "entropies", "largest_exponent", "hundred_tokens"}


def test_the_reference_gives_the_hand_computed_numbers() -> None:
    case = HAND["five_logits"]
    probs = softmax(torch.tensor(case["logits"], dtype=torch.float64))
    assert rounded(probs.tolist(), case["probs"])
    assert rounded([entropy(probs).item()], [case["entropy"]])
    case = HAND["thousands"]
    assert rounded(log_softmax(torch.tensor(case["logits"], dtype=torch.float64)).tolist(), case["log_probs"])


def test_the_lesson_quotes_the_hand_computed_numbers() -> None:
    five, cat, thousands, masked = (HAND[n] for n in ("five_logits", "cat_sat", "thousands", "masked"))
    mat, floor, table, others = cat["probs"][:4]
    times = [math.exp(gap) for gap in HAND["gaps_to_odds"]["gaps"]]
    share, _, rest = masked["probs"]
    assert_said(LESSON, [
        row("logit", map(str, cat["logits"])),
        f"*mat* has a logit of {cat['logits'][0]}, a weight of {cat['exponentials'][0]:.1f} and a probability of {mat:.4f}",
        f"mat has {mat:.4f}, floor {floor:.4f}, table {table:.4f}, and the other four {others:.4f} or less",
        row("gap between two logits", (f"{gap:g}" for gap in HAND["gaps_to_odds"]["gaps"])),
        row("how many times more probable", (f"{x:.4g}" if x < 1e4 else f"{x:,.0f}" for x in times)),
        f"so it is {math.exp(cat['logits'][0] - cat['logits'][1]):.2f} times as probable",
        row("divided by the sum", [*five["probs"], 1]),
        row("divided by the sum", [listed(thousands["probs"], 5).replace(", ", " | "), 1]),
        f"[1, -inf, 0] give [{share:.5f}, 0, {rest:.5f}]",
        f"Both are then [{listed(HAND['rows_far_apart']['probs'][0], 5)}]",
        f"it should give {listed(thousands['log_probs'], 5)}",
        f"$e^{{{thousands['log_probs'][-1]}}} = {thousands['probs'][-1]}$",
        row("surprisal, -ln p", [*(-x for x in five["log_probs"]), ""]),
        f"The entropy is {five['entropy']:.5f} nats and the perplexity $e^{{{five['entropy']:.5f}}} = {five['perplexity']:.4f}$",
        f"a hundred of them make {HAND['hundred_tokens']['log_prob']}",
    ])  # fmt: skip


def test_the_remarks_of_the_lesson_hold() -> None:
    assert int(1002 / math.log(10)) + 1 == 436  # digits of e^1002
    assert math.exp(-200) < 1e-86 <= math.exp(-197)  # 1 + e^-200 is 1 to 86 decimal places
    assert exact([0.0, math.log(3)]) == pytest.approx([0.25, 0.75])
    assert round(math.log(49_152), 2) == 10.80
    assert round(math.exp(2), 3) == 7.389
    row = torch.tensor([0.0, 0.0, 0.0, 400.0])
    assert torch.isinf((row - row.mean()).max().exp())
    assert torch.finfo(torch.float32).smallest_normal > torch.tensor(1e-45) > 0  # 1.4e-45 is subnormal, not 0
    assert torch.tensor(0.5e-45) == 0
    assert exact([0.0, -1.0])[1] == pytest.approx(math.exp(-1.3133), abs=2e-5)
    assert all(math.log(exact([0.0, -gap])[1]) == pytest.approx(-gap, abs=5e-5) for gap in (10.0, 50.0, 103.0))
    lossy = torch.softmax(torch.tensor([0.0, -103.0]), dim=-1)[1].log().item()
    assert abs(lossy + 103) > 0.1, "digits are lost before the probability is"
    assert torch.softmax(torch.tensor([0.0, -104.0]), dim=-1)[1] == 0
    assert 0.9**100 > 1e-5 > 0.1**100, "not every sentence of a hundred tokens is lost"
    assert nats(exact([0.0, 0.0, -math.inf])) == pytest.approx(math.log(2)) == nats([0.5, 0.5])
    for dtype, too_much in ((torch.float32, 89.0), (torch.float16, 12.0)):
        assert torch.tensor(too_much, dtype=dtype).exp().isinf()
        assert torch.tensor(too_much - 1, dtype=dtype).exp().isfinite()


def test_the_same_order_leaves_the_first_of_seven_anything_above_a_seventh() -> None:
    for said, step in {"0.6327": 1, "0.1890": 0.1, "0.1472": 0.01}.items():
        assert f"{exact([step * n for n in range(7, 0, -1)])[0]:.4f}" == said
        assert said in LESSON
    assert f"1/7 = {1 / 7:.4f}" in LESSON


def test_the_score_at_which_half_is_left() -> None:
    weights = [math.exp(x) for x in HAND["cat_sat"]["logits"]]
    others = math.fsum(weights[2:])
    for number in (f"{weights[0]:.1f}", f"{others:.1f}", f"{weights[0] - others:.1f}", f"{math.log(weights[0] - others):.4f}"):
        assert number in LESSON
    assert exact([8.7, math.log(weights[0] - others), *HAND["cat_sat"]["logits"][2:]])[0] == pytest.approx(0.5)


def test_a_row_is_lost_from_104_below_the_other_and_damaged_before() -> None:
    assert "more than about 104 below it" in LESSON
    assert torch.tensor([-103.0, -104.0]).exp().tolist() == [pytest.approx(1.4e-45, rel=0.01), 0.0]
    damaged = torch.tensor([-102.0, -102.5]).exp()
    assert abs(float(damaged[0] / damaged.sum()) - exact([0.0, -0.5])[0]) > 0.01


def test_a_millionth_inside_the_logarithm_is_a_millionth_for_each_token() -> None:
    for v in (1_000, 49_152):
        right, theirs = math.log(v), -math.log(1 / v + 1e-6)
        assert right - theirs == pytest.approx(v * 1e-6, rel=0.03)
    assert (f"{right:.4f}", f"{theirs:.4f}") == ("10.8027", "10.7547")
    assert "has 10.8027 nats, and here 10.7547" in LESSON
    assert -math.log(1 + 1e-6) < 0, "a certain distribution comes out below 0"
    assert f"{-math.log(0.5 + 1e-6):.5f}" == f"{math.log(2):.5f}", "on [0.5, 0.5, 0] it is right to five decimals"


@pytest.mark.slow
def test_the_real_model_does_what_the_lesson_says() -> None:
    try:
        model = load_model("smollm2")
    except ModelUnavailable as error:
        pytest.skip(f"SmolLM2 is not here: {error}")

    def last(text: str) -> torch.Tensor:
        with torch.no_grad():
            return model(torch.tensor([model.tokenizer.encode(text)]))[0, -1]

    top = {}
    for text in re.findall(r'^    "(.+)",$', LESSON.split("prompts = [")[1].split("]")[0], flags=re.M):
        logits = last(text)
        top[text] = (logits.max().item(), softmax(logits).max().item())
    assert len(top) == 5
    for text, logit, prob in [
        ("I think, therefore I", 29.4, 0.18),
        ("The chemical symbol for gold is", 12.6, 0.96),
        ("She opened the door and saw", 5.0, 0.41),
    ]:
        assert top[text] == (pytest.approx(logit, abs=0.06), pytest.approx(prob, abs=0.006))
    assert round(top["The cat sat on the"][1], 2) == 0.07
    assert top["The cat sat on the"][0] > top["The chemical symbol for gold is"][0]
    assert round(top["The capital of France is"][1], 2) == 0.77

    capitals = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Japan": "Tokyo"}
    ids = model.tokenizer.encode(" ".join(f"The capital of {country} is {city}." for country, city in capitals.items()))
    with torch.no_grad():
        unsure = entropy(softmax(model(torch.tensor([ids]))[0]))
    places = [i for i, token in enumerate(ids) if model.tokenizer.decode([token]) == " is"]
    first, second, *others = (unsure[i - 1].item() for i in places)
    assert first > 1 > 0.5 > second > max(others)
    assert unsure[places[-1]] < min(unsure[i] for i in places[:-1])

    def of_capital(order: list[str], asked: str) -> float:
        sentences = model.tokenizer.encode(" ".join(f"The capital of {country} is {capitals[country]}." for country in order))
        found = [i for i, token in enumerate(sentences) if model.tokenizer.decode([token]) == " is"]
        with torch.no_grad():
            return entropy(softmax(model(torch.tensor([sentences]))[0, found[order.index(asked)]])).item()

    for country, first_and_last in {"France": (1.48, 0.13), "Italy": (2.92, 0.50), "Spain": (3.17, 0.49), "Japan": (1.81, 0.34)}.items():
        others = [other for other in capitals if other != country]
        got = of_capital([country, *others], country), of_capital([*others, country], country)
        assert got == pytest.approx(first_and_last, abs=0.006), "the same country in both places"


@pytest.mark.slow
def test_the_formula_as_written_breaks_in_half_precision() -> None:
    """Four of the five prompts of section 6 have a logit above ln 65504; one has not."""
    try:
        model = load_model("smollm2")
    except ModelUnavailable as error:
        pytest.skip(f"SmolLM2 is not here: {error}")
    broken = []
    for text in re.findall(r'^    "(.+)",$', LESSON.split("prompts = [")[1].split("]")[0], flags=re.M):
        with torch.no_grad():
            logits = model(torch.tensor([model.tokenizer.encode(text)]))[0, -1]
        weights = logits.half().exp()
        broken += [text] * bool((weights / weights.sum()).isnan().any())
        assert not softmax(logits.half()).isnan().any()
        assert not (logits.exp() / logits.exp().sum()).isnan().any(), "in float32 none breaks"
        assert softmax(logits.half()).max().item() == pytest.approx(softmax(logits).max().item(), abs=1e-3)
    assert len(broken) == 4
    assert "She opened the door and saw" not in broken
