"""Models in Hugging Face's layout: what the kit loads, and how it names what it does not."""

import json
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from course.kit import ModelError, load_model


@pytest.fixture
def other_folder(tmp_path: Path) -> Path:
    """A random Llama in transformers' own layout that tiny does not cover: untied, sharded, heads wider than D / H."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=300,
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=16,
        rope_theta=500_000.0,
        rms_norm_eps=1e-6,
        initializer_range=0.3,
        tie_word_embeddings=False,
    )
    folder = tmp_path / "other"
    LlamaForCausalLM(config).save_pretrained(folder, max_shard_size="60KB")
    assert (folder / "model.safetensors.index.json").is_file()
    return folder


def change_config(folder: Path, **values: object) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def one_line(error: pytest.ExceptionInfo) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


def test_untied_sharded_folder_gives_the_logits_of_transformers(other_folder: Path):
    from transformers import AutoModelForCausalLM

    ours = load_model(other_folder)
    model = AutoModelForCausalLM.from_pretrained(other_folder, dtype=torch.float32)
    ids = torch.randint(300, (2, 33), generator=torch.Generator().manual_seed(7))
    with torch.no_grad():
        assert_close(ours(ids), model(input_ids=ids).logits, atol=1e-3, rtol=1e-5)
    assert ours.config.name == "other"
    assert ours.weights.lm_head is not ours.weights.embed_tokens


def test_older_configs_with_rope_theta_of_its_own_are_read(other_folder: Path):
    before = load_model(other_folder).config
    change_config(other_folder, rope_parameters=None, rope_theta=500_000.0, rope_scaling=None)
    assert load_model(other_folder).config == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model_type": "qwen2"}, "'qwen2'"),
        ({"attention_bias": True}, "attention_bias is True"),
        ({"mlp_bias": True}, "mlp_bias is True"),
        ({"hidden_act": "gelu"}, "'gelu'"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}}, "'llama3'"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": None}, "'linear'"),
        ({"quantization_config": {"quant_method": "awq"}}, "awq"),
        ({"num_key_value_heads": 4}, "6 query heads over 4"),
        ({"hidden_size": "many"}, "'many'"),
        ({"intermediate_size": 81}, "81"),
    ],
)
def test_what_the_kit_does_not_run_is_named(other_folder: Path, change: dict, named: str):
    change_config(other_folder, **change)
    with pytest.raises(ModelError) as error:
        load_model(other_folder)
    assert named in one_line(error)
    assert "other" in str(error.value)


@pytest.mark.parametrize("name", ["config.json", "weights"])
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_missing_and_damaged_files_are_named(other_folder: Path, name: str, damage: str):
    file = other_folder / name if name == "config.json" else sorted(other_folder.glob("*.safetensors"))[1]
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(ModelError, match="copy") as error:
        load_model(other_folder)
    assert str(other_folder) in one_line(error)


def test_a_missing_tensor_and_a_bias_are_named(other_folder: Path):
    from safetensors.torch import load_file, save_file

    shards = sorted(other_folder.glob("*.safetensors"))
    tensors = {key: tensor for shard in shards for key, tensor in load_file(shard).items()}
    for file in [*shards, other_folder / "model.safetensors.index.json"]:
        file.unlink()
    one_file = other_folder / "model.safetensors"
    save_file(tensors | {"model.layers.0.self_attn.q_proj.bias": torch.zeros(96)}, one_file)
    with pytest.raises(ModelError, match=r"q_proj\.bias"):
        load_model(other_folder)
    save_file({key: tensor for key, tensor in tensors.items() if key != "lm_head.weight"}, one_file)
    with pytest.raises(ModelError, match=r"lm_head\.weight is in none"):
        load_model(other_folder)


def test_folder_without_tokenizer_loads_and_says_so_when_it_is_used(other_folder: Path):
    model = load_model(other_folder)
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        _ = model.tokenizer
