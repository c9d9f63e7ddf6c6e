"""Composed functions: for a wrong one the cause names the stage at which its numbers differ, for a right one never."""

import re

import pytest
import torch

from autograder.authoring import CheckFailed
from autograder.base.course_table import solution_source
from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.certification.certify import specimen_named
from autograder.checking.checks.test_transformer import kit_model, small_config, small_layer, small_weights
from autograder.checking.helpers.stages import block_stages, close_by_stages, forward_stages, unreached, what_differs
from autograder.sandbox.measure.trace_fingerprints import watching
from autograder.sandbox.process.local import LocalStudent
from course.kit import load_model

CONFIG = small_config()
RNG = torch.Generator().manual_seed(0)
LAYER = small_layer(RNG, CONFIG)
X = torch.randn(2, 5, CONFIG.hidden_size, generator=RNG)
POSITIONS = torch.tensor([0, 1, 3, 4, 7])
RIGHT_BLOCKS = [s.file for s in find_specimens(SPECIMENS, ["transformer"]) if s.file.startswith("right_block_")]


def student(specimen: str | None = None) -> LocalStudent:
    namespace: dict[str, object] = {}
    exec(solution_source("transformer"), namespace)
    if specimen:
        exec(specimen_named(specimen, "transformer").source, namespace)
    return LocalStudent(namespace)


def cause_of(specimen: str) -> str | None:
    stages, want = block_stages(X, LAYER, CONFIG, POSITIONS)
    someone = student(specimen)
    with pytest.raises(CheckFailed) as failed:
        close_by_stages(someone, lambda: someone.decoder_block(X, LAYER, CONFIG, POSITIONS), want, lambda: stages, atol=1e-4)
    return failed.value.cause


@pytest.mark.parametrize(
    ("specimen", "stage"),
    [
        ("wrong_block_layer_norm.py", "x normed by input_layernorm"),
        ("wrong_block_rope_on_queries_only.py", "the turned keys"),
        ("wrong_block_no_mask.py", "what attention gives"),
        ("wrong_block_output_not_transposed.py", "its product with o_proj"),
        ("wrong_block_no_first_residual.py", "x with the update of attention"),
        ("wrong_block_norm_reused.py", "x normed by post_attention_layernorm"),
        ("wrong_block_gate_and_up_exchanged.py", "what feed_forward gives"),
        ("wrong_block_no_second_residual.py", "x with the update of feed_forward"),
    ],
)
def test_the_stage_that_differs_first_is_named(specimen, stage):
    found = re.search(r"those of (.+) never", cause_of(specimen) or "")
    assert found
    assert found[1] == stage


def test_what_was_computed_and_not_returned_is_reported():
    assert cause_of("wrong_block_update_only.py") == (
        "The expected numbers of x with the update of feed_forward appear in your computation, but are not what comes back."
    )


@pytest.mark.parametrize("specimen", [None, *RIGHT_BLOCKS])
def test_a_right_layer_reaches_every_stage(specimen):
    stages, _ = block_stages(X, LAYER, CONFIG, POSITIONS)
    someone = student(specimen)

    def call():
        return someone.decoder_block(X, LAYER, CONFIG, POSITIONS)

    assert what_differs(someone, call, stages, call()) is None


def test_the_stage_of_a_layer_that_goes_token_by_token_is_named_too():
    def token_by_token(x, layer, config, positions):
        return torch.stack([torch.stack([token * 2 for token in row]) for row in x])

    stages, _ = block_stages(X, LAYER, CONFIG, POSITIONS)
    someone = LocalStudent({"decoder_block": token_by_token})

    def call():
        return someone.decoder_block(X, LAYER, CONFIG, POSITIONS)

    sentence = what_differs(someone, call, stages, call())
    assert sentence == "In your computation the expected numbers of x appear; those of x normed by input_layernorm never do."


def test_the_stages_of_a_pass_end_in_the_logits_of_the_kit():
    weights = small_weights(RNG, CONFIG)
    model = kit_model(CONFIG, weights)
    ids = torch.randint(0, CONFIG.vocab_size, (2, 6), generator=RNG)
    whole, last = forward_stages(model, ids)[-1], forward_stages(model, ids, last=2)[-1]
    torch.testing.assert_close(whole.values[0].float(), model(ids), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(last.values[0].float(), model(ids)[:, -2:], atol=1e-4, rtol=1e-4)
    someone = student()
    with someone.watching() as fingerprints:
        someone.forward(someone.WeightsOnly(CONFIG, weights, None), ids)
    assert unreached(forward_stages(model, ids), fingerprints) is None


def test_the_stages_of_a_cached_pass_are_reached_with_a_cache():
    from solutions.kv_cache import KVCache, forward_cached

    model = load_model("tiny").weights_only()
    ids = torch.randint(3, 1000, (1, 12), generator=RNG)
    cache = KVCache(model.config, 1, 16)
    forward_cached(model, ids[:, :8], cache)
    with watching() as fingerprints:
        forward_cached(model, ids[:, 8:], cache)
    assert unreached(forward_stages(model, ids, last=4), fingerprints) is None
