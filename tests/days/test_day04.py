"""The numbers of the decoder day: worked out by hand, quoted in the lesson, or said of the real model."""

import contextlib
import io
import itertools
import math
import re
import tomllib
from dataclasses import replace

import pytest
import torch

import solutions.tokenizer
import solutions.transformer
from autograder.lessons import find_day, lesson
from autograder.notebook.parse_input import NotOfTheForm, typed
from course.kit import Model, ModelUnavailable, WeightsOnly, load_model, paths
from course.kit.models.weights import layer_shapes
from solutions.softmax import softmax
from solutions.transformer import decoder_block, feed_forward, forward, rms_norm

from ..support.demo_cells import DemoCells, public
from ..support.passages import assert_said, listed

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
    def four(*numbers: float) -> str:
        return listed(numbers, minus="−")

    small, count = HAND["rms_norm_small"], HAND["smollm2_parameters"]
    (a, b), update, mean = HAND["rms_norm_3_4"]["normed"], "(0.5, −1)", math.fsum(v * v for v in small["x"]) / 2
    assert_said(LESSON, [
        f"So (3, 4) becomes **({four(a, b)})**",
        f"With w = (2, 0.5) it becomes ({four(*HAND['rms_norm_weighted']['normed'])})",
        f"| {math.sqrt(mean + small['eps']):.7f} | ({four(*small['normed'])}) |",
        f"| {math.sqrt(mean) + small['eps']:.7f} | ({four(*small['eps_outside'])}) |",
        f"was shown the normed copy ({four(a, b)}), answers {update}",
        "(3, 4) + {} = **({:g}, {:g})**".format(update, *HAND["residual"]["right"]),
        f"({a} + 0.5, {b} − 1) = ({four(*HAND['residual']['around_the_norm'])})",
        "silu(1) = {}, silu(2) = {}, silu(−1) = {}, silu(0) = 0".format(*map(four, HAND["silu"]["silu"][:3])),
        f"The silu of the gate is {four(*HAND['silu']['silu'][:3])}",
        f"= **({four(*HAND['feed_forward']['output'])})**",
        f"49,152 rows of width 576, {count['embedding']:,} numbers, and the whole model has {count['total']:,}",
        f"49,152 · 576 = {count['embedding']:,}",
        f"with 192 · 576 each make {count['attention']:,}",
        f"3 · 1536 · 576, make {count['feed_forward']:,}",
        f"That is {count['layer']:,} a layer and {count['layers']:,} in thirty",
        f"the sum is **{count['total']:,}**",
    ])  # fmt: skip


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
def test_five_layers_left_out_are_missed_or_not(smollm2: Model) -> None:
    prompts = re.findall(r'^    "(.+)": "( \w+)",$', LESSON, flags=re.M)
    rank = {}
    for first in (10, 15):
        weights = replace(smollm2.weights, layers=smollm2.weights.layers[:first] + smollm2.weights.layers[first + 5 :])
        for prompt, answer in prompts:
            (target,) = smollm2.tokenizer.encode(answer)
            ids = torch.tensor([smollm2.tokenizer.encode(prompt)])
            logits = forward(WeightsOnly(smollm2.config, weights, lambda: smollm2.tokenizer), ids)[0, -1]
            rank[first, answer.strip()] = 1 + int((logits > logits[target]).sum())
    assert rank[10, "Paris"] > 1000
    assert rank[15, "Paris"] == rank[15, "cold"] == 1


@pytest.mark.slow
def test_mistakes_without_an_error_do_what_the_lesson_says(smollm2: Model) -> None:
    cell = next(c.source for c in lesson(find_day("transformer")).cells if c.role == "demo" and "def for_neighbours" in c.source)
    names: dict = {"model": smollm2, "torch": torch, "replace": replace, "WeightsOnly": WeightsOnly, "forward": forward, "softmax": softmax}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(cell, names | {"if_solved": lambda *_: True})
    found = dict(re.findall(r"^(\S.*?)  +Paris (.*)$", printed.getvalue(), flags=re.M))
    numbers = {name: [float(x) for x in re.findall(r"[\d.]+", rest)] for name, rest in found.items()}
    quoted = {
        "none": (0.77, 4.24), "gate and up exchanged": (0.0, 22.71), "o_proj not transposed": (0.0, 12.09),
        "the two norms exchanged": (0.0, 14.20), "q and k for neighbours": (0.72, 5.58), "RoPE's base 10,000": (0.75, 4.20),
    }  # fmt: skip
    assert set(numbers) == set(quoted)
    for name, (paris, loss) in quoted.items():
        assert numbers[name] == [pytest.approx(paris, abs=0.006), pytest.approx(loss, abs=0.02)], name
        assert f"{loss:.2f}" in LESSON
    assert len(smollm2.tokenizer.encode(text_of(cell))) == 49


def text_of(cell: str) -> str:
    """The text of the cell, put together from its two lines."""
    return "".join(re.findall(r'^    "(.*)"$', cell.partition("TEXT = (")[2].partition(")")[0], flags=re.M))


@pytest.mark.slow
def test_the_nearest_rows_are_those_that_the_lesson_names(smollm2: Model) -> None:
    rows = torch.nn.functional.normalize(smollm2.weights.embed_tokens, dim=-1)

    def nearest(word: str) -> dict[str, float]:
        (token,) = smollm2.tokenizer.encode(word)
        cosines, ids = (rows @ rows[token]).topk(7)
        return {smollm2.tokenizer.decode([i]): c for c, i in zip(cosines[1:].tolist(), ids[1:].tolist(), strict=True)}

    seven, monday = nearest("7"), nearest(" Monday")
    assert list(seven) == ["6", "8", "9", "5", "4", "3"]
    assert [f"{c:.2f}" for c in (max(seven.values()), min(seven.values()))] == ["0.91", "0.77"]
    assert set(monday) == {f" {day}day" for day in ("Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun")}
    assert [f"{c:.2f}" for c in (max(monday.values()), min(monday.values()))] == ["0.89", "0.79"]
    assert all("bank" in word.lower() for word in nearest(" bank"))


@pytest.mark.slow
def test_a_conversation_goes_on_through_the_students_own_forward_pass(smollm2: Model) -> None:
    cell = next(c.source for c in lesson(find_day("transformer")).cells if c.role == "demo" and "def say(" in c.source)
    printed, earlier = io.StringIO(), {"tokenizer": solutions.tokenizer}
    names: dict = {"model": smollm2, "torch": torch, "forward": forward, "earlier": earlier.__getitem__, "if_solved": lambda *_: True}
    with contextlib.redirect_stdout(printed):
        exec(cell, names)
    first, second = printed.getvalue().strip().split("\n")
    assert "Paris" in first
    assert "Rome" in second
    assert [message["role"] for message in names["conversation"]] == ["user", "assistant"] * 2


def test_the_counts_of_a_layer_and_of_larger_models() -> None:
    tiny = load_model("tiny")
    matrices = {name: w.numel() for name, w in vars(tiny.weights.layers[0]).items() if w.dim() == 2}
    attends = sum(count for name, count in matrices.items() if name[:2] in ("q_", "k_", "v_", "o_"))
    assert (attends, sum(matrices.values()) - attends) == (49_152, 135_168)
    assert 4 * 128 * 128 == 65_536
    assert round(1536 / 576, 2) == 2.67 == round(8 / 3, 2)
    assert f"{12 * 96 * 12_288**2 / 1e9:.1f}" == "173.9"
    for quoted in ("49,152", "135,168", "65,536 to 135,168", "173.9 billion", "1,536 / 576 = 2.67"):
        assert quoted in LESSON


@pytest.mark.slow
def test_bank_leaves_further_than_words_of_one_meaning(smollm2: Model) -> None:
    sentences, words = (re.findall(r'"(.+?)"', found) for found in re.findall(r"^(?:SENTENCES|WORDS) = \((.+)\)$", LESSON, flags=re.M))
    assert words == ["bank", "box", "floor", "chair"]
    ids = torch.tensor([smollm2.tokenizer.encode(sentence.format(word)) for word in words for sentence in sentences])
    D = smollm2.config.hidden_size
    shown = replace(smollm2.weights, norm=torch.ones(D), lm_head=torch.eye(D))
    across, within = {}, {}
    for n in (0, 9, 30):
        weights = replace(shown, layers=shown.layers[:n])
        last = forward(WeightsOnly(smollm2.config, weights, lambda: smollm2.tokenizer), ids)[:, -1].view(len(words), 3, D)
        across[n] = torch.cosine_similarity(last[:, 0], last[:, 1], dim=-1).tolist()
        within[n] = torch.cosine_similarity(last[:, 2], last[:, 1], dim=-1).tolist()
    assert min(across[0]) > 0.999
    assert round(across[9][0], 2) == 0.79
    assert min(across[9][1:]) > 0.935  # 0.94 for the floor
    assert min(within[9]) > 0.95
    assert across[30][0] < across[30][2] < across[30][1] < 0.85  # bank, floor, box


@pytest.mark.slow
def test_the_first_token_grows_a_vector_of_its_own(smollm2: Model) -> None:
    ids = torch.tensor(
        [smollm2.tokenizer.encode("The river rises in the hills, runs past three old mills, and meets the sea below the harbour.")]
    )
    x, positions = smollm2.weights.embed_tokens[ids], torch.arange(ids.shape[1])
    first, others = [], []
    for layer in smollm2.weights.layers:
        x = decoder_block(x, layer, smollm2.config, positions)
        length = x[0].norm(dim=-1)
        first.append(length[0].item())
        others.append(length[1:].median().item())
    assert [n for n, (a, b) in enumerate(itertools.pairwise(others), start=2) if b < a] == [11, 12]
    assert others[-1] > 10 * others[0]
    assert first[10] < 2 * others[10]
    assert all(a > 30 * b for a, b in zip(first[11:28], others[11:28], strict=True))
    assert first[11] > 100 * others[11]
    assert first[27] > first[28] > first[29]


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ("[10, 11, 12, 13, 14]", "rank 2,769 of 49,152\nnot refuted"),
        ("range(13, 18)", "the sentence is refuted"),
        ("torch.arange(14, 19)", "the sentence is refuted"),
        ("(19, 18, 17, 16, 15)", "the sentence is refuted"),
        ("range(13, 20)", "without the 7 layers 13 to 19 Paris stands at rank 1 of 49,152\nthe sentence is refuted"),
        ("range(12, 17)", "not refuted"),
        ("range(16, 21)", "not refuted"),
        ("range(30)", "not refuted"),
        ("[13, 14, 15, 16]", "five layers or more"),
        ("[13, 15, 16, 17, 18, 19]", "five layers or more"),
        ("[15, 15, 16, 17, 18, 19]", "five layers or more"),
        ("[26, 27, 28, 29, 30]", "five layers or more"),
        ("[-5, -4, -3, -2, -1]", "five layers or more"),
        ("[]", "five layers or more"),
        ("[13.0, 14.0, 15.0, 16.0, 17.0]", "should be a list of whole numbers"),
        ("[True] * 5", "should be a list of whole numbers"),
        ("'13 to 17'", "should be a list of whole numbers"),
        ("None", "should be a list of whole numbers"),
        ("15", "should be a list of whole numbers"),
    ],
)
def test_layers_that_paris_can_do_without(smollm2: Model, layers: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    def names() -> dict:
        known = {"model": smollm2, "replace": replace, "WeightsOnly": WeightsOnly, "torch": torch, "typed": typed}
        return public(solutions.transformer) | known

    try:
        changed = "my_layers = [10, 11, 12, 13, 14]", f"my_layers = {layers}"
        heard = DemoCells(find_day("transformer"), names)("my_layers", capsys, changed)
    except NotOfTheForm as refused:
        heard = str(refused)
    assert said in heard
    assert ("the sentence is refuted" in heard) == (said.endswith("the sentence is refuted"))
