"""The numbers of the day of the loop: worked out by hand, and quoted in the lesson."""

import tomllib
from contextlib import suppress
from itertools import pairwise

import pytest
import torch

from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from course.kit import load_model, paths
from solutions.generation import generate, stream
from solutions.samplers import draw

from ..support.passages import assert_said, listed

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["generation"]
LESSON = (paths.ROOT / "course" / "day07_generation" / "lesson.md").read_text(encoding="utf-8")


def test_hand_computed_numbers_are_right() -> None:
    case = HAND["bigram"]
    words, probs = case["words"], case["probs"]
    assert all(sum(row) == pytest.approx(1) for row in probs)
    for name in ("greedy", "best"):
        ids = [words.index(w) for w in [case["prompt"], *case[name]]]
        product = 1.0
        for before, after in pairwise(ids):
            product *= probs[before][after]
        assert product == pytest.approx(case[f"{name}_prob"])
    token = words.index(case["prompt"])
    for word in case["greedy"]:
        token = max(range(len(words)), key=lambda i, row=probs[token]: row[i])
        assert words[token] == word
    token = words.index(case["prompt"])
    for u, word in zip(case["u"], case["drawn"], strict=True):
        token = int(draw(torch.tensor([probs[token]], dtype=torch.float64), torch.tensor([[u]])))
        assert words[token] == word

    case = HAND["two_rows"]
    for prompt, new, ends in zip(case["prompts"], case["new_tokens"], case["unfilled_ends"], strict=True):
        token, seen = prompt[0], []
        for step in range(1, 12):
            token = case["following"][token]
            seen.append(token)
            assert (token == case["eos"]) == (step in ends)
        first = ends[0]
        assert new == seen[:first] + [case["eos"]] * (len(new) - first)

    case = HAND["window"]
    assert case["lengths"] == [min(len(case["prompt"]) + i, case["block_size"]) for i in range(case["steps"])]
    assert case["positions"] == sum(case["lengths"])
    case = HAND["work"]
    assert case["positions"] == sum(range(case["t_prompt"], case["t_prompt"] + case["t_new"]))
    assert case["positions_once"] == case["t_prompt"] + case["t_new"] - 1
    assert set(HAND) == {"bigram", "two_rows", "window", "work"}, "every entry is recomputed"


def test_the_lesson_quotes_them() -> None:
    bigram, window, work = (HAND[name] for name in ("bigram", "window", "work"))
    products = {}
    for name in ("greedy", "best"):
        ids = [bigram["words"].index(word) for word in [bigram["prompt"], *bigram[name]]]
        products[name] = " · ".join(f"{bigram['probs'][a][b]:g}" for a, b in pairwise(ids)) + f" = {bigram[f'{name}_prob']}"
    positions = sum(range(1000, 1500))
    assert_said(LESSON, [
        f"For *the* the loop says *cat sat* and `<end>`, with the probability {products['greedy']}",
        f"*the dog ran* has {products['best']}",
        f"The model sees {listed(window['lengths'], 0)} tokens: {window['positions']} in all",
        f"20 · (100 + 119) / 2 = **{work['positions']:,} positions**",
        f"500 · (1000 + 1499) / 2 = {positions:,}",
        f"More than {int(1000 * (1 - 1499 / positions)) / 10} % of the work was done before",
    ])  # fmt: skip


@pytest.mark.slow
def test_the_greedy_text_of_tiny_gets_stuck_where_the_lesson_says() -> None:
    tiny = load_model("tiny")
    prompt = torch.tensor([tiny.tokenizer.encode("HAMLET:\n")])
    row = generate(tiny, prompt, max_new_tokens=340, block_size=256, temperature=0.0)[0, prompt.shape[1] :].tolist()
    assert any(row[260:-q] == row[260 + q :] for q in range(1, 40))  # one line, at least twice more
    assert "about 250 tokens" in LESSON


def test_no_graph_grows_from_step_to_step() -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
    ids = torch.tensor([[0]])
    for _ in range(3):  # ids carry no gradient
        logits = layers(torch.ones(*ids.shape, 4) * ids[..., None])
        assert logits.grad_fn is not None
        ids = torch.cat((ids, logits[:, -1].argmax(dim=-1, keepdim=True)), dim=1)
        assert ids.grad_fn is None


def test_eval_and_gradient_mode_work_as_the_lesson_says() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Dropout(0.5)))
    assert [part.training for part in model.eval().modules()] == [False] * 4
    with suppress(MemoryError), torch.no_grad():
        raise MemoryError
    assert torch.is_grad_enabled()
    with torch.enable_grad():  # for the tests after this one
        with suppress(MemoryError):
            torch.set_grad_enabled(False)
            raise MemoryError
        assert not torch.is_grad_enabled()


def test_the_models_of_load_model_have_no_mode_to_switch() -> None:
    tiny = load_model("tiny")
    assert not isinstance(tiny, torch.nn.Module)
    assert not any(weight.requires_grad for weight in tiny.weights.tensors())
    ids = torch.tensor([[1, 2, 3]])
    assert torch.equal(tiny(ids), tiny(ids))  # no dropout: nothing is drawn


def test_a_row_depends_on_the_rows_drawn_beside_it() -> None:
    tiny = load_model("tiny")
    prompt = torch.tensor([tiny.tokenizer.encode("HAMLET:\n")])
    one, four = (
        generate(tiny, prompt.repeat(rows, 1), max_new_tokens=8, block_size=256, generator=torch.Generator().manual_seed(1))[0]
        for rows in (1, 4)
    )
    assert not torch.equal(one, four)


def test_a_model_that_raises_leaves_gradient_mode_alone() -> None:
    modes: list[bool] = []

    def model(ids: torch.Tensor) -> torch.Tensor:
        modes.append(torch.is_grad_enabled())
        raise MemoryError

    with pytest.raises(MemoryError):
        generate(model, torch.tensor([[0]]), max_new_tokens=1, block_size=4)
    assert modes == [False]
    assert torch.is_grad_enabled()


def test_gradients_are_on_between_two_tokens_of_a_stream() -> None:
    tokens = stream(lambda ids: torch.zeros(*ids.shape, 4), torch.tensor([[0]]), max_new_tokens=2, block_size=4)
    next(tokens)
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("how", ["local", "remote"])
def test_a_model_is_called_back_in_the_gradient_mode_of_the_call(how: str) -> None:
    """The checks rely on this; a torch module arrives as a plain callable, too."""
    cell = """
def probe(model):
    with torch.no_grad():
        quiet = model(1)
    return quiet, model(2), hasattr(model, "eval")
"""

    class Asked(torch.nn.Module):
        def forward(self, number: int) -> list[object]:
            return [number, torch.is_grad_enabled()]

    student: LocalStudent | RemoteStudent
    if how == "local":
        space = {"torch": torch}
        exec(cell, space)
        student = LocalStudent(space)
    else:
        student = RemoteStudent("generation", [Cell("probe", "import torch\n" + cell)], {})
    try:
        assert student.probe(Asked()) == ([1, False], [2, True], False)
        assert student.gradients(False) == "on"
        assert student.gradients(True) == "off"
    finally:
        if isinstance(student, RemoteStudent):
            student.close()
