"""The reference decoder against transformers: the same weights, read and run by another library."""

import gc
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from benchmarks.peers import transformers_twin
from course.kit import Model, ModelUnavailable, WeightsOnly, load_model, paths
from solutions.transformer import decoder_block, forward

transformers = pytest.importorskip("transformers", reason="transformers is the oracle of these tests")

LINES = (
    "To be, or not to be, that is the question:",
    "Shall I compare thee to a summer's day?",
    "O",
    "The quality of mercy is not strained. It droppeth as the gentle rain from heaven upon the place beneath. " * 4,
)


@pytest.fixture(scope="module")
def tiny() -> Model:
    return load_model("tiny")


@pytest.fixture(scope="module")
def smollm2() -> Iterator[Model]:
    try:
        yield load_model("smollm2")
    except ModelUnavailable as error:
        pytest.skip(f"SmolLM2 is not here: {error}")
    finally:
        gc.collect()


def encoded(model: Model, text: str) -> Tensor:
    return torch.tensor([model.tokenizer.encode(text)])


@torch.no_grad()
def test_tiny_is_what_transformers_reads_from_the_folder(tiny: Model) -> None:
    theirs = transformers.AutoModelForCausalLM.from_pretrained(paths.DATASETS / "tiny", dtype=torch.float32)
    for line in LINES:
        ids = encoded(tiny, line)
        assert torch.allclose(forward(tiny, ids), theirs(ids).logits, atol=1e-3, rtol=0)


@torch.no_grad()
def test_tiny_in_float64_leaves_no_room_for_another_formula(tiny: Model) -> None:
    double = load_model("tiny", dtype=torch.float64)
    ids = encoded(tiny, LINES[3])
    theirs = transformers_twin(double)
    assert torch.allclose(forward(double, ids), theirs(ids).logits, atol=1e-4, rtol=0)  # transformers takes angles in float32


@torch.no_grad()
def test_rows_of_a_batch_equal_single_runs(tiny: Model) -> None:
    ids = torch.randint(3, 1000, (4, 30), generator=torch.Generator().manual_seed(0))
    together = forward(tiny, ids)
    for row in range(4):
        assert torch.allclose(together[row], forward(tiny, ids[row : row + 1])[0], atol=1e-4, rtol=0)


@torch.no_grad()
def test_bfloat16_errs_no_more_than_twice_as_much_as_transformers(tiny: Model) -> None:
    low = load_model("tiny", dtype=torch.bfloat16)
    ids = encoded(tiny, LINES[3])
    exact, theirs = forward(tiny, ids), transformers_twin(low)

    def error(logits: Tensor) -> float:
        return (logits.float() - exact).square().mean().sqrt().item()

    assert error(forward(low, ids)) <= 2 * error(theirs(ids).logits)


@torch.no_grad()
def test_positions_may_start_anywhere_and_differ_by_row(tiny: Model) -> None:
    layer, config = tiny.weights.layers[0], tiny.config
    x = torch.randn(2, 6, config.hidden_size, generator=torch.Generator().manual_seed(1))
    plain = decoder_block(x, layer, config, torch.arange(6))
    shifted = decoder_block(x, layer, config, torch.stack((torch.arange(6), torch.arange(6) + 100)))
    assert torch.allclose(plain, shifted, atol=1e-4)  # only distances count


def test_a_model_without_a_forward_pass_is_enough(tiny: Model) -> None:
    ids = encoded(tiny, LINES[0])
    only = tiny.weights_only()
    assert type(only) is WeightsOnly
    assert torch.equal(forward(only, ids), forward(tiny, ids))


@pytest.mark.slow
@torch.no_grad()
def test_smollm2_equals_transformers(smollm2: Model) -> None:
    theirs = transformers_twin(smollm2)
    for text in ("The capital of France is", "def fibonacci(n):\n    if n < 2:\n", LINES[3]):
        ids = encoded(smollm2, text)
        assert torch.allclose(forward(smollm2, ids), theirs(ids).logits, atol=1e-3, rtol=0)


@pytest.mark.slow
@torch.no_grad()
def test_smollm2_rows_of_a_batch_equal_single_runs(smollm2: Model) -> None:
    texts = ("We sat in the grass on the bank", "He put all his money in the bank")
    ids = torch.cat([encoded(smollm2, text) for text in texts])
    together = forward(smollm2, ids)
    for row in range(2):
        assert torch.allclose(together[row], forward(smollm2, ids[row : row + 1])[0], atol=1e-3, rtol=0)
