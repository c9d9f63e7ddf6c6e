"""The kit's models: the same logits as transformers, and one clear line for whatever cannot be loaded."""

import shutil
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from course.kit import Model, ModelError, ModelUnavailable, WeightsOnly, load_model, paths

needs_smollm2 = pytest.mark.skipif(
    not paths.SMOLLM2.is_file(), reason="SmolLM2 is not on this machine; `python -m course.kit.fetch` fetches it"
)


@pytest.fixture(scope="module")
def tiny() -> Model:
    return load_model("tiny")


def random_ids(vocab_size: int, *shape: int) -> torch.Tensor:
    return torch.randint(vocab_size, shape, generator=torch.Generator().manual_seed(7))


@torch.no_grad()
def theirs(model, ids: torch.Tensor) -> torch.Tensor:
    return model(input_ids=ids).logits


def test_tiny_gives_the_logits_of_transformers(tiny: Model):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(paths.TINY, dtype=torch.float32)
    for shape in ((1, 1), (3, 64), (1, 2048)):
        ids = random_ids(1024, *shape)
        assert_close(tiny(ids), theirs(model, ids), atol=1e-3, rtol=0)


@needs_smollm2
@pytest.mark.slow
def test_smollm2_gives_the_logits_of_transformers_which_reads_the_same_file():
    from transformers import AutoModelForCausalLM

    ours = load_model("smollm2")
    file = paths.SMOLLM2
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    ids = random_ids(49152, 2, 40)
    assert_close(ours(ids), theirs(model, ids), atol=1e-3, rtol=0)
    assert (ours.config.name, ours.config.bos_token_id, ours.config.eos_token_id) == ("smollm2", 1, 2)
    assert ours.num_parameters == 134_515_008
    assert ours.config.rms_norm_eps == 1e-5
    assert ours.tokenizer.decode(ours.tokenizer.encode("2026")) == "2026"


def test_rows_do_not_see_each_other(tiny: Model):
    ids = random_ids(1024, 4, 50)
    alone = torch.cat([tiny(row[None]) for row in ids])
    assert_close(tiny(ids), alone, atol=1e-4, rtol=0)


def test_a_position_does_not_see_later_ones(tiny: Model):
    ids = random_ids(1024, 1, 50)
    changed = ids.clone()
    changed[0, 30:] = 5
    assert_close(tiny(ids)[:, :30], tiny(changed)[:, :30], atol=1e-4, rtol=0)
    assert not torch.allclose(tiny(ids)[:, 30:], tiny(changed)[:, 30:], atol=1e-1)


@pytest.mark.parametrize(
    ("dtype", "limit"), [(torch.float64, 1e-4), (torch.float32, 1e-4), (torch.bfloat16, 0.5), (torch.float16, 0.1)]
)
def test_weights_and_logits_have_the_dtype_asked_for(dtype: torch.dtype, limit: float):
    model = load_model("tiny", dtype=dtype)
    ids = random_ids(1024, 2, 32)
    logits = model(ids)
    assert {tensor.dtype for tensor in model.weights.tensors()} == {dtype} == {logits.dtype, model.dtype}
    assert (logits.double() - load_model("tiny", dtype=torch.float64)(ids)).abs().max() < limit


def test_weights_only_shares_the_weights_and_cannot_be_called(tiny: Model):
    only = tiny.weights_only()
    assert type(only) is WeightsOnly
    assert not callable(only)
    assert only.weights is tiny.weights
    assert only.config is tiny.config
    assert only.tokenizer is tiny.tokenizer
    assert only.device == torch.device("cpu")


def test_tied_embeddings_are_one_tensor_and_shapes_are_those_of_the_config(tiny: Model):
    config, weights = tiny.config, tiny.weights
    assert config.tie_word_embeddings
    assert weights.lm_head is weights.embed_tokens
    assert config.num_key_value_heads < config.num_attention_heads
    assert config.max_position_embeddings == 2048
    assert weights.layers[0].k_proj.shape == (config.num_key_value_heads * config.head_dim, config.hidden_size)
    assert len(weights.layers) == config.num_hidden_layers
    assert 0.9e6 < tiny.num_parameters < 1.2e6
    assert not any(tensor.requires_grad for tensor in weights.tensors())


@pytest.mark.parametrize(
    ("ids", "named"),
    [
        (torch.zeros(5, dtype=torch.int64), "(5,)"),
        (torch.zeros(1, 5), "float32"),
        (torch.zeros(1, 0, dtype=torch.int64), "T=0"),
        (torch.zeros(1, 2049, dtype=torch.int64), "T=2049"),
        (torch.tensor([[3, 1024]]), "1024"),
        (torch.tensor([[3, -1]]), "-1"),
    ],
)
def test_ids_that_do_not_fit_are_named(tiny: Model, ids: torch.Tensor, named: str):
    with pytest.raises(ValueError, match=r"ids|takes") as error:
        tiny(ids)
    assert named in one_line(error)


def one_line(error: pytest.ExceptionInfo) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


def test_unknown_names_and_wrong_files_are_named(tmp_path: Path):
    with pytest.raises(ModelError, match=r"'smollm3' is not on this machine; give 'tiny', 'smollm2'"):
        load_model("smollm3")
    note = tmp_path / "note.txt"
    note.write_text("no model")
    with pytest.raises(ModelError, match=r"no \.gguf file"):
        load_model(note)
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        load_model(tmp_path)


def test_wrong_arguments_are_named():
    with pytest.raises(ModelError, match="int8"):
        load_model("tiny", dtype=torch.int8)
    with pytest.raises(ModelError, match="'maybe'"):
        load_model("tiny", missing="maybe")  # type: ignore[call-overload]
    if not torch.cuda.is_available():
        with pytest.raises(ModelError, match='device="cpu"'):
            load_model("tiny", device="cuda:0")


def test_smollm2_that_is_not_there_is_one_line_with_the_remedy(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(paths, "SMOLLM2", tmp_path / "absent.gguf")
    with pytest.raises(ModelUnavailable, match=r"python -m course\.kit\.fetch"):
        load_model("smollm2")
    assert load_model("smollm2", missing="none") is None
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert "make lab" in printed


def test_smollm2_of_the_wrong_size_is_damaged_even_where_missing_is_none(tmp_path: Path, monkeypatch):
    file = tmp_path / "short.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setattr(paths, "SMOLLM2", file)
    with pytest.raises(ModelError, match=r"damaged: 4 bytes instead of 98,362,432"):
        load_model("smollm2", missing="none")


def test_tiny_is_what_transformers_loads_from_a_copy_of_the_folder(tmp_path: Path, tiny: Model):
    """The folder needs nothing outside itself."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    copy = shutil.copytree(paths.TINY, tmp_path / "tiny")
    model, tokenizer = AutoModelForCausalLM.from_pretrained(copy), AutoTokenizer.from_pretrained(copy)
    ids = tokenizer("ROMEO:\n", return_tensors="pt").input_ids
    assert ids[0].tolist() == tiny.tokenizer.encode("ROMEO:\n")
    out = model.generate(ids, max_new_tokens=8, do_sample=False)
    assert out.shape == (1, ids.shape[1] + 8)
