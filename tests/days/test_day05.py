"""The numbers of the samplers day: worked out by hand, quoted in the lesson, or said of the real model; and its playground."""

import inspect
import io
import math
import tomllib
from itertools import accumulate
from types import SimpleNamespace

import pytest
import torch

from course.kit import ModelUnavailable, load_model, paths, plots
from course.kit.widgets import describe, sampler_playground
from solutions.samplers import draw, greedy_sample, sample_next_token, temperature_probs, top_k_probs, top_p_probs
from solutions.softmax import softmax

from ..support.passages import assert_said, listed, row

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["samplers"]
LESSON = (paths.ROOT / "course" / "day05_samplers" / "lesson.md").read_text(encoding="utf-8")
OWN = {"temperature_probs": temperature_probs, "top_k_probs": top_k_probs, "top_p_probs": top_p_probs}


def exact(row: list[float], tau: float = 1.0) -> list[float]:
    """Probabilities of one row, by the formula, with the gaps to the maximum."""
    weights = [math.exp((x - max(row)) / tau) for x in row]
    return [w / math.fsum(weights) for w in weights]


def renormalised(probs: list[float], kept: set[int]) -> list[float]:
    total = math.fsum(probs[i] for i in kept)
    return [p / total if i in kept else 0.0 for i, p in enumerate(probs)]


def nucleus(probs: list[float], p: float) -> set[int]:
    kept: set[int] = set()
    for i in sorted(range(len(probs)), key=lambda i: -probs[i]):
        if math.fsum(probs[j] for j in kept) >= p:
            break
        kept.add(i)
    return kept


def rounded(numbers: list[float], like: list[float]) -> bool:
    """Whether the first are the second, rounded to four decimals."""
    return all(abs(n - w) <= 5.1e-5 for n, w in zip(numbers, like, strict=True))


def tensor(row: list[float]) -> torch.Tensor:
    return torch.tensor([row], dtype=torch.float64)


def test_hand_computed_numbers_are_right() -> None:
    checked = {"greedy"}
    assert HAND["greedy"]["logits"].index(max(HAND["greedy"]["logits"])) == HAND["greedy"]["token"]
    for name in ("temperature_half", "temperature_0_7", "temperature_two"):
        case = HAND[name]
        assert rounded(case["probs"], exact(case["logits"], case["tau"]))
        checked.add(name)
    case = HAND["temperature_as_power"]
    logs = [math.log(p) for p in case["probs"]]
    assert rounded(case["tau_half"], exact(logs, 0.5))
    assert rounded(case["tau_two"], exact(logs, 2.0))
    for name in ("top_k_two", "top_k_tie"):
        case = HAND[name]
        threshold = sorted(case["logits"])[-case["k"]]
        kept = {i for i, x in enumerate(case["logits"]) if x >= threshold}
        assert rounded(case["probs"], renormalised(exact(case["logits"]), kept))
        checked.add(name)
    case = HAND["sorted_cumulative"]
    probs = exact(case["logits"])
    assert case["sorted_ids"] == sorted(range(5), key=lambda i: -probs[i])
    assert rounded(case["cumulative"], [math.fsum(sorted(probs)[-n:]) for n in range(1, 6)])
    case = HAND["top_p_0_9"]
    assert rounded(case["probs"], renormalised(exact(case["logits"]), nucleus(exact(case["logits"]), case["p"])))
    case = HAND["draw_four"]
    sums = [math.fsum(case["probs"][: n + 1]) for n in range(4)]
    assert case["tokens"] == [next(i for i, s in enumerate(sums) if s > u) for u in case["u"]]
    case = HAND["temperature_then_top_p"]
    probs = exact(case["logits"], case["tau"])
    assert rounded(case["probs"], renormalised(probs, nucleus(probs, case["p"])))
    case = HAND["top_k_then_top_p"]
    probs = renormalised(case["probs"], set(range(case["k"])))
    assert rounded(case["after_top_k"], probs)
    assert set(case["kept"]) == nucleus(probs, case["p"])
    assert len(nucleus(case["probs"], case["p"])) == 2
    case = HAND["two_situations"]
    assert rounded([case["mass_a"], case["mass_b"]], [math.fsum(case["situation_a"]), math.fsum(case["situation_b"])])
    assert rounded([case["something_else_in_100_steps"]], [1 - case["situation_a"][0] ** 100])
    weights = [1 / (10 + i) for i in range(3_000)]
    tail = [(1 - case["mass_a"]) * w / math.fsum(weights) for w in weights]
    best = math.fsum(sorted([*case["situation_a"], *tail])[-50:])
    paris = case["situation_a"][0] / best
    assert rounded([case["top_k_50_mass_in_a"], case["paris_after_top_k_50"]], [best, paris])
    assert rounded([case["something_else_in_100_steps_after_top_k_50"]], [1 - paris**100])
    survivors = [p for p in case["situation_b"] if p >= sorted(case["situation_b"])[-5]]
    assert len(survivors) == case["top_k_5_keeps_in_b"]
    assert rounded([case["top_k_5_mass_in_b"]], [math.fsum(survivors)])
    checked |= {"temperature_as_power", "sorted_cumulative", "top_p_0_9", "draw_four", "temperature_then_top_p"}
    checked |= {"top_k_then_top_p", "two_situations"}
    assert checked == set(HAND), "every entry is recomputed"


def test_the_reference_gives_the_hand_computed_numbers() -> None:
    five = tensor(HAND["greedy"]["logits"])
    assert greedy_sample(five).item() == HAND["greedy"]["token"]
    for name in ("temperature_half", "temperature_0_7", "temperature_two"):
        assert rounded(temperature_probs(five, HAND[name]["tau"])[0].tolist(), HAND[name]["probs"])
    for name in ("top_k_two", "top_k_tie"):
        assert rounded(top_k_probs(tensor(HAND[name]["logits"]), HAND[name]["k"])[0].tolist(), HAND[name]["probs"])
    assert rounded(top_p_probs(five, 0.9)[0].tolist(), HAND["top_p_0_9"]["probs"])
    case = HAND["draw_four"]
    u = torch.tensor(case["u"])
    for shape in ((-1, 1), (-1,)):
        assert draw(tensor(case["probs"]).repeat(len(u), 1), u.view(shape)).flatten().tolist() == case["tokens"]


def test_the_lesson_quotes_the_hand_computed_numbers() -> None:
    half, seven, two = (HAND[n]["probs"] for n in ("temperature_half", "temperature_0_7", "temperature_two"))
    power, summed, drawn, both = (HAND[n] for n in ("temperature_as_power", "sorted_cumulative", "draw_four", "two_situations"))
    pair, tie, order = HAND["top_k_two"]["probs"], HAND["top_k_tie"]["probs"], HAND["temperature_then_top_p"]["probs"]
    (paris, lyon, marseille), in_b = both["situation_a"], both["situation_b"]
    places = "restaurant {}, cafe {}, diner {}, pub {}, bistro {}, bar {}, steakhouse {}".format(*in_b)
    fifty, now = both["top_k_50_mass_in_a"], both["paris_after_top_k_50"]
    assert_said(LESSON, [
        row("divided by the sum", [*two, 1]),
        f"With tau = 0.5 the same five become {listed(half)}, and with tau = 0.7 they become {listed(seven)}.",
        f"sum 0.54, so {listed(power['tau_half'])}.",
        f"you take roots: {listed(power['tau_two'])}.",
        f"So token 3 has {pair[3]:.4f}, token 0 has {pair[0]:.4f}",
        f"three tokens survive here, with {listed(tie[:2])}, 0, {tie[3]:.4f}",
        row("token", summed["sorted_ids"]),
        row("probability, sorted", sorted(exact(summed["logits"]), reverse=True)),
        row("mass with it", [*summed["cumulative"][:4], 1]),
        f"So {{3, 0}} stay, with {HAND['top_p_0_9']['probs'][3]:.4f} and {HAND['top_p_0_9']['probs'][0]:.4f}",
        f"{{3, 0, 2}}, with {listed([order[3], order[0], order[2]])}",
        "Top-k keeps two and renormalises: {:.4f} and {:.4f}".format(*HAND["top_k_then_top_p"]["after_top_k"][:2]),
        f"Paris {paris}, Lyon {lyon}, Marseille {marseille}, and thousands of others share the remaining {1 - both['mass_a']:.3f}",
        f"{places}, and thousands of others share the remaining {1 - both['mass_b']:.2f}",
        f"$1 - {paris}^{{100}} = {both['something_else_in_100_steps']}$",
        f"the fifty hold {fifty} of the probability, Paris now has {paris} / {fifty} = {now}",
        f"$1 - {now}^{{100}} = {both['something_else_in_100_steps_after_top_k_50']}$",
        f"What do the six hold together? {both['top_k_5_mass_in_b']}.",
        row("first running sum above u", (f"{next(s for s in accumulate(drawn['probs']) if s > u):g}" for u in drawn["u"])),
        row("token", drawn["tokens"]),
    ])  # fmt: skip


def test_the_remarks_of_the_lesson_hold() -> None:
    probs = exact([math.log(p) for p in (0.7, 0.2, 0.1)], 0.5)
    assert probs[0] / probs[2] == pytest.approx(49)
    assert torch.tensor(0.99999999) == 1  # float32 rounds it up
    assert 2**24 == 16_777_216
    assert round(2**24 / 10_000 / 60) == 28  # "half an hour"
    assert rounded([0.3329, 0.0578, 0.1423, 0.0821, 1.6151], [0.332871, 0.057844, 0.142274, 0.082085, 1.615074])
    eighths = torch.tensor([[0.5, 0.25, 0.125, 0.125]], dtype=torch.float64).log()
    assert [int((top_p_probs(eighths, p) > 0).sum()) for p in (0.74, 0.76)] == [2, 3]
    assert [int((top_k_probs(tensor([5, 3, 3, 3]), k) > 0).sum()) for k in (1, 2)] == [1, 4]


def test_a_token_above_the_mean_logit_loses_as_the_temperature_rises() -> None:
    """The lesson's example, and its rule: the mean is weighted with the probabilities."""
    row = tensor([2.0, 1.9, 0.0, 0.0, 0.0])
    shares = [float(temperature_probs(row, tau)[0, 1]) for tau in (1.0, 2.0)]
    assert rounded(shares, [0.3916, 0.3114])
    assert "falls from 0.3916 to 0.3114" in LESSON
    logits = 3 * torch.randn(50, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    cold, hot = temperature_probs(logits, 1.0), temperature_probs(logits, 1.0 + 1e-6)
    mean = (cold * logits).sum(dim=-1, keepdim=True)
    apart = (logits - mean).abs() > 1e-3
    assert ((hot < cold) == (logits > mean))[apart].all()


def test_the_two_orders_of_the_lesson() -> None:
    """Temperature and top-p, either first: where token 2 can come and where it cannot."""
    five = tensor(HAND["greedy"]["logits"])
    filtered_first = temperature_probs(top_p_probs(five, 0.9).log(), 2.0)[0].tolist()
    assert rounded(filtered_first, [0.2497, 0.0, 0.0, 0.7503, 0.0])
    assert "0.7503 and 0.2497" in LESSON
    for tau, fewer in ((0.5, True), (2.0, False)):  # "above it our order keeps more tokens, below it fewer"
        ours = int((top_p_probs(temperature_probs(five, tau).log(), 0.9) > 0).sum())
        assert (ours < 2) == fewer
        assert ours != 2
    assert [round(x, 2) for x in exact([0.9, 0.1])] == [0.69, 0.31]  # probabilities handed on as if they were logits


def test_multinomial_of_one_token_is_the_race_of_the_lesson() -> None:
    for seed in range(20):
        probs = torch.softmax(torch.randn(3, 500, generator=torch.Generator().manual_seed(seed)), dim=-1)
        drawn = torch.multinomial(probs, 1, generator=torch.Generator().manual_seed(seed))
        times = torch.empty_like(probs).exponential_(generator=torch.Generator().manual_seed(seed))
        assert drawn.equal((probs / times).argmax(dim=-1, keepdim=True))


def test_what_the_lesson_says_of_half_precision() -> None:
    logits = 2.5 * torch.randn(1, 49_152, generator=torch.Generator().manual_seed(0))
    found = {}
    for dtype in (torch.float32, torch.bfloat16):
        sums = softmax(logits.to(dtype)).cumsum(dim=-1)[0].double()
        places = (sums / sums[-1]).diff(prepend=torch.zeros(1, dtype=torch.float64)).clamp(min=0)
        probs = softmax(logits.to(dtype).double())[0]
        found[dtype] = int((places == 0).sum()), float((places - probs).abs().sum() / 2)
        assert float(probs[places == 0].max()) < (1e-7 if dtype == torch.float32 else 1)
    assert found[torch.bfloat16][0] == pytest.approx(48_639, abs=20)  # the last digit hangs on how a sum is rounded
    assert found[torch.bfloat16][1] > 0.5
    assert found[torch.float32][0] == pytest.approx(3_017, abs=200)
    assert found[torch.float32][1] < 1e-3
    assert "48,639 of 49,152" in LESSON
    assert "3,017 tokens" in LESSON


def test_the_reference_gives_every_token_its_place_in_half_precision() -> None:
    """The same row through temperature_probs and draw: all tokens that float32 can tell apart come, each at its place."""
    logits = (2.5 * torch.randn(1, 49_152, generator=torch.Generator().manual_seed(0))).bfloat16()
    exact = torch.softmax(logits.double(), dim=-1)[0]
    sums = torch.cat([torch.zeros(1, dtype=torch.float64), exact.cumsum(dim=-1)])
    wide = (exact > 2e-5).nonzero().flatten()[::40]
    u = ((sums[wide] + sums[wide + 1]) / 2).float()
    probs = temperature_probs(logits, 1.0)
    assert probs.dtype == torch.float32
    assert torch.cat([draw(probs, x.reshape(1, 1)) for x in u]).flatten().equal(wide)


def test_the_orders_and_defaults_that_the_lesson_names_are_those_of_transformers() -> None:
    from transformers.generation.configuration_utils import GenerationConfig
    from transformers.generation.utils import GenerationMixin

    defaults = GenerationConfig()._get_default_generation_params()
    assert [defaults[name] for name in ("temperature", "top_k", "top_p", "do_sample", "max_length")] == [1.0, 50, 1.0, False, 20]
    assert "default let's always generate 20 new tokens" in inspect.getsource(GenerationMixin)
    source = inspect.getsource(GenerationMixin._get_logits_processor)
    places = [source.index(f"{name}LogitsWarper(") for name in ("Temperature", "TopK", "TopP")]
    assert places == sorted(places)
    assert "dtype=torch.float32" in inspect.getsource(GenerationMixin._sample)


def test_a_draw_never_leaves_the_vocabulary_or_the_support() -> None:
    """At the largest u that torch.rand gives, whatever the rounding of the running sums, with a tail that was cut."""
    rows = torch.softmax(3 * torch.randn(2000, 300, generator=torch.Generator().manual_seed(0)), dim=-1)
    rows[:, 200:] = 0
    rows = rows / rows.sum(dim=-1, keepdim=True)
    for u in (0.0, 1 - 2**-24):
        tokens = draw(rows, torch.full((2000, 1), u))
        assert (rows.gather(-1, tokens) > 0).all()


def test_bad_settings_are_named_also_when_nothing_would_be_drawn() -> None:
    for options, value in (({"top_k": 0}, "0"), ({"top_p": 1.5}, "1.5"), ({"temperature": -1.0}, "-1.0")):
        with pytest.raises(ValueError, match=value):
            sample_next_token(torch.zeros(1, 4), **{"temperature": 0.0, **options})


# ---- the playground and the plots ----------------------------------------------------------------------------------


def test_the_playground_says_in_words_what_is_left() -> None:
    box = sampler_playground(torch.tensor([2.0, -1.5, 0.3, 4.2, -0.8]), ["a", " b", "<c>", "d", "\n"], **OWN)
    tau, k, p, reset, said, shown = box.children
    assert "5 of 5 tokens survive" in said.value
    p.value = 0.9
    assert "2 of 5 tokens survive; before the cut, 97.3% of the probability was theirs." in said.value
    assert "90.02%" in shown.value
    assert "cut (was 1.77%)" in shown.value
    assert "&lt;c&gt;" in shown.value  # a token is text, never HTML
    assert "␣b" in shown.value
    tau.value = 2.0
    assert "3 of 5 tokens survive" in said.value
    k.value = 1
    assert "1 token survives" in said.value
    assert "Entropy 0.00 nats: as undecided as 1.0" in said.value
    reset.click()
    assert (tau.value, k.value, p.value) == (1.0, "off", 1.0)
    assert "5 of 5 tokens survive" in said.value
    assert all(s.style.description_width == "initial" for s in (tau, k, p))


def test_the_playground_switches_off_what_is_not_written_and_survives_what_is_wrong() -> None:
    def wrong(logits: torch.Tensor, tau: float) -> torch.Tensor:
        raise RuntimeError("a <mistake>")

    box = sampler_playground(torch.zeros(1, 4))
    assert [slider.disabled for slider in box.children[:3]] == [True, True, True]
    assert "temperature_probs, top_k_probs, top_p_probs" in box.children[4].value
    box = sampler_playground(torch.zeros(1, 4), temperature_probs=wrong)
    assert "RuntimeError: a &lt;mistake&gt;" in box.children[-2].value


def test_a_description_counts_mass_before_the_cut() -> None:
    text = describe(torch.tensor([0.5, 0.25, 0.25]), torch.tensor([2 / 3, 1 / 3, 0]))
    assert text.startswith("2 of 3 tokens survive; before the cut, 75.0%")


def test_plots_leave_the_notebook_as_it_was() -> None:
    """Style and interactive drawing: matplotlib's own context would switch the latter off, and later figures would not show."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    size, interactive = mpl.rcParams["font.size"], mpl.is_interactive()
    try:
        mpl.interactive(True)
        with plots.style():
            mpl.interactive(False)
        assert not mpl.is_interactive()
        assert mpl.rcParams["font.size"] == size
    finally:
        mpl.interactive(interactive)
    plots.next_token_bars([0.5, 0.3, 0.2], [" a$b", "日", "c"], n=2, keep=[True, False, True])
    labels = [t.get_text() for t in plt.gca().get_yticklabels()]
    assert labels == ["␣a\\$b", "<65E5>"]
    assert [t.get_text() for t in plt.gca().texts] == ["50.0 %", "30.0 %  cut"]
    plt.close("all")


def test_a_figure_is_saved_the_same_each_time() -> None:
    def drawn() -> bytes:
        fig, ax = plots.figure()
        plots.lines([1, 2, 4], {"a": [1, 2, 3], "b": [3, 2, 1]}, xlabel="x", ylabel="y", logx=True, ax=ax)
        file = io.BytesIO()
        plots.save(fig, file)
        return file.getvalue()

    assert drawn() == drawn()


def test_labels_come_from_tokenizers_functions_and_lists() -> None:
    tokenizer = SimpleNamespace(decode=lambda ids: f" {ids[0]}")
    assert plots.namer(tokenizer)(7) == "␣7"
    assert plots.namer(lambda i: f"f{i}")(7) == "f7"
    assert plots.namer(["x\ty"])(0) == "x⇥y"
    assert plots.namer(None)(7) == "7"


# ---- the real model ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_real_model_does_what_the_lesson_says() -> None:
    try:
        model = load_model("smollm2")
    except ModelUnavailable as error:
        pytest.skip(f"SmolLM2 is not here: {error}")

    def logits(text: str) -> torch.Tensor:
        with torch.no_grad():
            return model(torch.tensor([model.tokenizer.encode(text)]))[0]

    def beyond_50(text: str, tau: float) -> float:
        return float(temperature_probs(logits(text)[-1:], tau)[0].sort(descending=True).values[50:].sum())

    capital, friends = "The capital of France is", "On Saturday evening we met our friends at the"
    assert capital in LESSON
    assert friends in LESSON
    tails = [beyond_50(capital, tau) for tau in (0.7, 1.0, 1.5, 2.0)]
    assert tails == pytest.approx([0.001, 0.047, 0.488, 0.810], abs=0.003)
    assert beyond_50(friends, 1.0) > 0.5
    ranks = logits(capital)[-1].argsort(descending=True).tolist()
    assert all(50 <= ranks.index(model.tokenizer.encode(word)[0]) < 200 for word in (" called", " known"))

    text = "".join(line.strip().strip('"') for line in LESSON.split("text = (\n")[1].split("\n)")[0].split("\n    "))
    ids = model.tokenizer.encode(text)
    sizes = (top_p_probs(logits(text)[:-1], 0.9) > 0).sum(dim=-1).tolist()
    names = [model.tokenizer.decode([i]) for i in ids[1:]]
    # Rounding elsewhere may move a large nucleus by a token; the lesson's sentence must still be true.
    assert len(sizes) == 52
    assert (sum(s <= 5 for s in sizes), sum(s > 50 for s in sizes)) == (13, 23)
    assert max(sizes) == pytest.approx(3708, abs=5)
    assert sizes[names.index(" of")] == sizes[names.index("clock")] == 1
