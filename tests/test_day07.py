"""The numbers of the day of the loop: worked out by hand, and quoted in the lesson."""

import tomllib
from itertools import pairwise

import pytest
import torch

from course.kit import paths
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


def test_a_model_that_raises_gets_its_training_flag_back() -> None:
    class Breaks:
        training = True

        def eval(self) -> None:
            self.training = False

        def train(self) -> None:
            self.training = True

        def __call__(self, ids: torch.Tensor) -> torch.Tensor:
            raise MemoryError

    model = Breaks()
    with pytest.raises(MemoryError):
        generate(model, torch.tensor([[0]]), max_new_tokens=1, block_size=4)
    assert model.training


def test_gradients_are_on_between_two_tokens_of_a_stream() -> None:
    tokens = stream(lambda ids: torch.zeros(*ids.shape, 4), torch.tensor([[0]]), max_new_tokens=2, block_size=4)
    next(tokens)
    assert torch.is_grad_enabled()
