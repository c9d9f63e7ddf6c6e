"""The numbers of the day of the loop: worked out by hand, and quoted in the lesson."""

import tomllib
from itertools import pairwise

import pytest
import torch

from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from course.kit import load_model, paths
from solutions.generation import generate, stream
from solutions.samplers import draw

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
    quoted = ["0.5 · 0.6 · 0.8 = 0.24", "0.4 · 0.7 · 0.9 = 0.252", "3, 4, 4, 4, 4 tokens: 19 in all", "2,190 positions", "624,750"]
    assert [q for q in quoted if q not in LESSON] == []
    assert sum(range(1000, 1500)) == 624_750
    assert 1 - 1499 / 624_750 > 0.997


@pytest.mark.slow
def test_the_greedy_text_of_tiny_gets_stuck_where_the_lesson_says() -> None:
    tiny = load_model("tiny")
    prompt = torch.tensor([tiny.tokenizer.encode("HAMLET:\n")])
    row = generate(tiny, prompt, max_new_tokens=340, block_size=256, temperature=0.0)[0, prompt.shape[1] :].tolist()
    assert any(row[260:-q] == row[260 + q :] for q in range(1, 40))  # one line, at least twice more
    assert "about 250 tokens" in LESSON


def test_what_the_lesson_says_of_notes_and_flags() -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
    ids = torch.tensor([[0]])
    for _ in range(3):  # no graph grows from step to step: ids carry no gradient
        logits = layers(torch.ones(*ids.shape, 4) * ids[..., None])
        assert logits.grad_fn is not None
        ids = torch.cat((ids, logits[:, -1].argmax(dim=-1, keepdim=True)), dim=1)
        assert ids.grad_fn is None
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Dropout(0.5)))
    model.training = False
    assert [part.training for part in model.modules()] == [False, True, True, True]
    assert [part.training for part in model.eval().modules()] == [False] * 4


def test_a_row_depends_on_the_rows_drawn_beside_it() -> None:
    tiny = load_model("tiny")
    prompt = torch.tensor([tiny.tokenizer.encode("HAMLET:\n")])
    one, four = (
        generate(tiny, prompt.repeat(rows, 1), max_new_tokens=8, block_size=256, generator=torch.Generator().manual_seed(1))[0]
        for rows in (1, 4)
    )
    assert not torch.equal(one, four)


class Breaks(torch.nn.Module):
    """A model whose parts have flags of their own, and which fails."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout())
        self.body[0].eval()  # frozen, in a model that is training
        self.seen: list[bool] = []

    def flags(self) -> list[bool]:
        return [part.training for part in self.modules()]

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        self.seen = [*self.flags(), torch.is_grad_enabled()]
        raise MemoryError


def test_a_model_that_raises_gets_its_training_flags_back() -> None:
    model = Breaks()
    before = model.flags()
    with pytest.raises(MemoryError):
        generate(model, torch.tensor([[0]]), max_new_tokens=1, block_size=4)
    assert model.flags() == before == [True, True, False, True]
    assert model.seen == [False] * 5
    assert torch.is_grad_enabled()


def test_gradients_are_on_between_two_tokens_of_a_stream() -> None:
    tokens = stream(lambda ids: torch.zeros(*ids.shape, 4), torch.tensor([[0]]), max_new_tokens=2, block_size=4)
    next(tokens)
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("how", ["near", "far"])
def test_a_module_crosses_with_the_flags_of_its_parts(how: str) -> None:
    """What the checks rely on: eval, train, modules and isinstance do to the stand-in what they do to a torch module."""
    cell = """
def probe(model):
    assert isinstance(model, torch.nn.Module)
    before = {name: part.training for name, part in model.named_modules()}
    model.eval()
    asleep = [part.training for part in model.modules()]
    first, second = model.body.children()
    second.train()
    first.training = True
    return before, asleep, [child.training for child in model.body.children()]
"""
    model = Breaks()
    student: LocalStudent | RemoteStudent
    if how == "near":
        space = {"torch": torch}
        exec(cell, space)
        student = LocalStudent(space)
    else:
        student = RemoteStudent("generation", [Cell("probe", "import torch\n" + cell)], {})
    try:
        before, asleep, children = student.probe(model)
        assert before == {"": True, "body": True, "body.0": False, "body.1": True}
        assert asleep == [False] * 4
        assert children == [True, True]
        assert model.flags() == [False, False, True, True]
        assert student.gradients(False) == "on"
        assert student.gradients(True) == "off"
    finally:
        if isinstance(student, RemoteStudent):
            student.close()
