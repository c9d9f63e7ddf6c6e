"""A model in a folder as Hugging Face lays it out: config.json, *.safetensors, tokenizer.json."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ..errors import ModelError
from .config import Config, config_from_hf
from .model import Model
from .tokenizer import Tokenizer
from .weights import build_weights


def load_folder(folder: Path, name: str, dtype: torch.dtype, device: str | torch.device) -> Model:
    """Return the model in a folder. Raises ModelError for missing or damaged files and for a model that is not a plain Llama."""
    config = folder_config(folder, name)
    try:
        opened = [safe_open(file, framework="pt") for file in _shards(folder, name)]
    except SafetensorError as error:
        raise ModelError(f"{name}: the weights in {folder} are damaged ({error}); copy them again") from None
    where = {key: shard for shard in opened for key in shard.keys()}  # noqa: SIM118 (safe_open is no dict)
    if biased := [key for key in where if key.endswith("_proj.bias")]:
        raise ModelError(f"{name}: {biased[0]} is a bias: the kit supports only Llama models without biases")

    def read(key: str) -> Tensor:
        stored = hf_name(key)
        if stored not in where:
            raise ModelError(f"{name}: {stored} is in none of the .safetensors files; copy the whole folder again")
        return where[stored].get_tensor(stored)

    weights = build_weights(config, read, dtype=dtype, device=device)
    return Model(config, weights, lambda: folder_tokenizer(folder, config))


def folder_config(folder: Path, name: str) -> Config:
    return config_from_hf(_read_json(folder / "config.json", name), name)


def folder_tokenizer(folder: Path, config: Config) -> Tokenizer:
    ids = {"bos_token_id": config.bos_token_id, "eos_token_id": config.eos_token_id}
    return Tokenizer.from_folder(folder, name=config.name, **ids)


def hf_name(key: str) -> str:
    """Return a weight's name in Hugging Face's files: `layers.3.q_proj` -> `model.layers.3.self_attn.q_proj.weight`."""
    if key == "lm_head":
        return "lm_head.weight"
    if not key.startswith("layers."):
        return f"model.{key}.weight"
    _, index, field = key.split(".")
    part = "self_attn." if field in ("q_proj", "k_proj", "v_proj", "o_proj") else "mlp." if "_proj" in field else ""
    return f"model.layers.{index}.{part}{field}.weight"


def _shards(folder: Path, name: str) -> list[Path]:
    """Return the weight files of a folder: the files in its index, or without an index every .safetensors file."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        files = [folder / file for file in sorted(set(_read_json(index, name)["weight_map"].values()))]
    else:
        files = sorted(folder.glob("*.safetensors")) or [folder / "model.safetensors"]
    for file in files:
        if not file.is_file():
            raise ModelError(f"{name}: {file} is missing; copy the whole folder of the model again")
    return files


def _read_json(path: Path, name: str) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{name}: {path} is missing; copy the whole folder of the model again") from None
    except ValueError as error:
        raise ModelError(f"{name}: {path} is not valid JSON ({error}); copy it again") from None
    if not isinstance(values, dict):
        raise ModelError(f"{name}: {path} is damaged: it has no table of names and values; copy it again")
    return values
