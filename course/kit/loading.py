"""`load_model` and `load_tokenizer`: a name of the course, a folder in Hugging Face's layout, or a GGUF file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, overload

import torch
from torch import Tensor

from . import paths
from .config import Config, config_from_gguf, config_from_hf
from .errors import ModelError, ModelUnavailable
from .gguf_file import GGUFFile
from .gguf_tokenizer import tokenizer_json
from .model import Model
from .tokenizer import Tokenizer
from .weights import build_weights

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
SMOLLM2_BYTES = 98_362_432
HOW_TO_FETCH = "`make lab` or `python -m course.kit.fetch` fetches it once (93 MB)"

GGUF_NAMES = {
    "input_layernorm": "attn_norm",
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}


@overload
def load_model(
    name_or_path: str | Path,
    *,
    dtype: torch.dtype = ...,
    device: str | torch.device = ...,
    missing: Literal["raise"] = ...,
) -> Model: ...


@overload
def load_model(
    name_or_path: str | Path, *, dtype: torch.dtype = ..., device: str | torch.device = ..., missing: Literal["none"]
) -> Model | None: ...


def load_model(
    name_or_path: str | Path,
    *,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    missing: Literal["raise", "none"] = "raise",
) -> Model | None:
    """The model "tiny" or "smollm2", or the Llama-family model in a folder or a `.gguf` file.

    dtype is float32, float64, bfloat16 or float16: the type of the weights and of all that is computed from them.
    Raises ModelError, one line with the remedy, for what cannot be loaded. Where "smollm2" has not been fetched yet,
    missing="raise" raises ModelUnavailable (a ModelError); missing="none" prints that line and returns None.
    """
    if dtype not in DTYPES:
        raise ModelError(f"dtype must be one of {', '.join(map(str, DTYPES))}, got {dtype}")
    if missing not in ("raise", "none"):
        raise ModelError(f'missing must be "raise" or "none", got {missing!r}')
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise ModelError(f'device {str(device)!r} was asked for, torch sees no GPU on this machine; use device="cpu"')
    try:
        path, name = _find(name_or_path)
    except ModelUnavailable as error:
        if missing == "raise":
            raise
        print(error)
        return None
    load = _load_folder if path.is_dir() else _load_gguf
    return load(path, name, dtype, device)


def load_tokenizer(name_or_path: str | Path) -> Tokenizer:
    """The tokenizer of "tiny" or "smollm2" (which needs no model file), of a folder, or of a `.gguf` file."""
    if name_or_path == "smollm2":
        return Tokenizer.from_folder(paths.SMOLLM2_TOKENIZER, name="smollm2")
    path, name = _find(name_or_path)
    if path.is_dir():
        return _folder_tokenizer(path, _folder_config(path, name))
    return _gguf_tokenizer(GGUFFile(path), name)


def _find(name_or_path: str | Path) -> tuple[Path, str]:
    """Path and name of what is to be loaded."""
    if name_or_path == "tiny":
        return paths.TINY, "tiny"
    if name_or_path == "smollm2":
        if not paths.SMOLLM2.is_file():
            raise ModelUnavailable(f"SmolLM2 is not on this machine yet: {HOW_TO_FETCH}")
        if (size := paths.SMOLLM2.stat().st_size) != SMOLLM2_BYTES:
            short = f"{paths.SMOLLM2} is damaged: {size:,} bytes instead of {SMOLLM2_BYTES:,}"
            raise ModelError(f"{short}; delete it, then {HOW_TO_FETCH}")
        return paths.SMOLLM2, "smollm2"
    path = Path(name_or_path).expanduser()
    if path.is_dir():
        return path, path.resolve().name
    if path.is_file() and path.suffix == ".gguf":
        return path, path.stem
    what = "is a file but no .gguf file" if path.is_file() else "is not on this machine"
    raise ModelError(f"{str(name_or_path)!r} {what}; give 'tiny', 'smollm2', a model's folder or a .gguf file")


def _load_folder(folder: Path, name: str, dtype: torch.dtype, device: str | torch.device) -> Model:
    from safetensors import SafetensorError, safe_open

    config = _folder_config(folder, name)
    try:
        opened = [safe_open(file, framework="pt") for file in _shards(folder, name)]
    except SafetensorError as error:
        raise ModelError(f"{name}: the weights in {folder} are damaged ({error}); copy them again") from None
    where = {key: shard for shard in opened for key in shard.keys()}  # noqa: SIM118 (safe_open is no dict)
    if biased := [key for key in where if key.endswith("_proj.bias")]:
        raise ModelError(f"{name}: {biased[0]} is a bias, the kit runs plain Llama models without any")

    def read(key: str) -> Tensor:
        stored = hf_name(key)
        if stored not in where:
            raise ModelError(f"{name}: {stored} is in none of the .safetensors files; copy the whole folder again")
        return where[stored].get_tensor(stored)

    weights = build_weights(config, read, dtype=dtype, device=device)
    return Model(config, weights, lambda: _folder_tokenizer(folder, config))


def _load_gguf(path: Path, name: str, dtype: torch.dtype, device: str | torch.device) -> Model:
    file = GGUFFile(path)
    config = config_from_gguf(file.metadata, file.tensors, name)
    if extra := [key for key in file.tensors if key.endswith(".bias") or key == "rope_freqs.weight"]:
        raise ModelError(f"{name}: tensor {extra[0]} is no part of a plain Llama model, which is all that the kit runs")
    num_heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}

    def read(key: str) -> Tensor:
        stored = gguf_name(key)
        if stored not in file.tensors:
            raise ModelError(f"{name}: {stored} is not in {path}; the file is damaged, fetch it again")
        field = key.rpartition(".")[2]
        return file.read_rotated(stored, num_heads[field]) if field in num_heads else file.read(stored)

    weights = build_weights(config, read, dtype=dtype, device=device)
    open_tokenizer: Callable[[], Tokenizer] = lambda: _gguf_tokenizer(file, name)  # noqa: E731
    if path == paths.SMOLLM2:
        open_tokenizer = lambda: load_tokenizer("smollm2")  # noqa: E731
    return Model(config, weights, open_tokenizer)


def hf_name(key: str) -> str:
    """`layers.3.q_proj` -> `model.layers.3.self_attn.q_proj.weight`."""
    if key == "lm_head":
        return "lm_head.weight"
    if not key.startswith("layers."):
        return f"model.{key}.weight"
    _, index, field = key.split(".")
    part = "self_attn." if field in ("q_proj", "k_proj", "v_proj", "o_proj") else "mlp." if "_proj" in field else ""
    return f"model.layers.{index}.{part}{field}.weight"


def gguf_name(key: str) -> str:
    """`layers.3.q_proj` -> `blk.3.attn_q.weight`."""
    whole = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
    if key in whole:
        return f"{whole[key]}.weight"
    _, index, field = key.split(".")
    return f"blk.{index}.{GGUF_NAMES[field]}.weight"


def _folder_config(folder: Path, name: str) -> Config:
    return config_from_hf(_read_json(folder / "config.json", name), name)


def _folder_tokenizer(folder: Path, config: Config) -> Tokenizer:
    ids = {"bos_token_id": config.bos_token_id, "eos_token_id": config.eos_token_id}
    return Tokenizer.from_folder(folder, name=config.name, **ids)


def _gguf_tokenizer(file: GGUFFile, name: str) -> Tokenizer:
    ids = {f"{role}_token_id": file.metadata.get(f"tokenizer.ggml.{role}_token_id") for role in ("bos", "eos")}
    return Tokenizer(tokenizer_json(file.metadata, name), name=name, **ids)


def _shards(folder: Path, name: str) -> list[Path]:
    """The weight files of a folder: those that its index lists, else every .safetensors file."""
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
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{name}: {path} is missing; copy the whole folder of the model again") from None
    except ValueError as error:
        raise ModelError(f"{name}: {path} is no valid JSON ({error}); copy it again") from None
