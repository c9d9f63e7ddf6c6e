"""A Llama model in a GGUF file, under the names of Hugging Face."""

from pathlib import Path

import torch
from torch import Tensor

from ..errors import ModelError
from .config import GGUF_NAMES, Config, config_from_gguf
from .gguf_file import Q4_1, Q8_0, GGUFFile
from .gguf_tokenizer import tokenizer_json
from .model import Model
from .tokenizer import Tokenizer
from .weights import build_weights, layer_shapes


def load_gguf(path: Path, name: str, dtype: torch.dtype, device: str | torch.device) -> Model:
    """Return the model in a GGUF file. Raises ModelError for a damaged file and for a model that is not a plain Llama."""
    file = GGUFFile(path)
    config = config_from_gguf(file.metadata, file.tensors, name)
    num_heads = _num_heads(config)

    def read(key: str) -> Tensor:
        stored = gguf_name(key)
        if stored not in file.tensors:
            raise ModelError(f"{name}: {stored} is not in {path}; the file is damaged, fetch it again")
        field = key.rpartition(".")[2]
        return file.read_unpermuted(stored, num_heads[field]) if field in num_heads else file.read(stored)

    weights = build_weights(config, read, dtype=dtype, device=device)
    return Model(config, weights, lambda: gguf_tokenizer(path, name))


def load_gguf_blocks(path: Path, name: str) -> dict[str, Tensor]:
    """Return {name in the kit: blocks} of every matrix in Q4_1 or Q8_0: `layers.3.q_proj`, `embed_tokens`, `lm_head`."""
    file = GGUFFile(path)
    config = config_from_gguf(file.metadata, file.tensors, name)
    num_heads = _num_heads(config)
    layers = (f"layers.{index}.{field}" for index in range(config.num_hidden_layers) for field in layer_shapes(config))
    stored = {key: gguf_name(key) for key in ("embed_tokens", *layers, "lm_head")}
    return {
        key: file.blocks(other, num_heads.get(key.rpartition(".")[2]))
        for key, other in stored.items()
        if other in file.tensors and file.tensors[other].kind in (Q4_1, Q8_0)
    }


def _num_heads(config: Config) -> dict[str, int]:
    """Return the number of heads of each weight whose rows llama.cpp stores in another order."""
    return {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}


def gguf_tokenizer(path: Path, name: str) -> Tokenizer:
    """Return the tokenizer in a GGUF file. Raises ModelError for a kind that the kit does not support."""
    metadata = GGUFFile(path).metadata
    ids = {f"{role}_token_id": metadata.get(f"tokenizer.ggml.{role}_token_id") for role in ("bos", "eos")}
    return Tokenizer(tokenizer_json(metadata, name), name=name, **ids)


def gguf_name(key: str) -> str:
    """Return a weight's name in a GGUF file: `layers.3.q_proj` -> `blk.3.attn_q.weight`."""
    whole = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
    if key in whole:
        return f"{whole[key]}.weight"
    _, index, field = key.split(".")
    return f"blk.{index}.{GGUF_NAMES[field]}.weight"
