"""A model's weights under Hugging Face's names; rows are outputs, as in `torch.nn.Linear.weight`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from ..errors import ModelError
from .config import Config


@dataclass
class LayerWeights:
    """One decoder layer. D width, H and K heads, Dh head width, F feed-forward width."""

    input_layernorm: Tensor  # (D,)
    q_proj: Tensor  # (H*Dh, D)
    k_proj: Tensor  # (K*Dh, D)
    v_proj: Tensor  # (K*Dh, D)
    o_proj: Tensor  # (D, H*Dh)
    post_attention_layernorm: Tensor  # (D,)
    gate_proj: Tensor  # (F, D)
    up_proj: Tensor  # (F, D)
    down_proj: Tensor  # (D, F)


@dataclass
class Weights:
    """The weights of the whole model. With tied embeddings, lm_head is the same tensor as embed_tokens."""

    embed_tokens: Tensor  # (V, D)
    layers: list[LayerWeights]
    norm: Tensor  # (D,)
    lm_head: Tensor  # (V, D)

    def tensors(self) -> Iterator[Tensor]:
        """Yield every tensor once, also a tied tensor."""
        yield self.embed_tokens
        for layer in self.layers:
            yield from (getattr(layer, field.name) for field in fields(layer))
        yield self.norm
        if self.lm_head is not self.embed_tokens:
            yield self.lm_head

    def to(self, *, device: str | torch.device, dtype: torch.dtype) -> "Weights":
        """Return every tensor on `device` in `dtype`; a tied head remains tied."""

        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device=device, dtype=dtype)

        layers = [LayerWeights(**{f.name: moved(getattr(layer, f.name)) for f in fields(layer)}) for layer in self.layers]
        embed_tokens = moved(self.embed_tokens)
        lm_head = embed_tokens if self.lm_head is self.embed_tokens else moved(self.lm_head)
        return Weights(embed_tokens, layers, moved(self.norm), lm_head)


def layer_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return {field of LayerWeights: its shape}."""
    width, wide = config.hidden_size, config.intermediate_size
    q_rows = config.num_attention_heads * config.head_dim
    kv_rows = config.num_key_value_heads * config.head_dim
    return {
        "input_layernorm": (width,),
        "q_proj": (q_rows, width),
        "k_proj": (kv_rows, width),
        "v_proj": (kv_rows, width),
        "o_proj": (width, q_rows),
        "post_attention_layernorm": (width,),
        "gate_proj": (wide, width),
        "up_proj": (wide, width),
        "down_proj": (width, wide),
    }


def build_weights(
    config: Config, read: Callable[[str], Tensor], *, dtype: torch.dtype, device: str | torch.device
) -> Weights:
    """Return weights from `read`, which returns a tensor for `embed_tokens`, `layers.3.q_proj`, `norm`, `lm_head`.

    Each tensor is converted to its dtype and device before the next is read, so two copies of the model never exist at once. Raises
    ModelError if a shape differs from the config.
    """

    def get(key: str, *shape: int) -> Tensor:
        tensor = read(key)
        if tensor.shape != shape:
            wrong = f"{key} has shape {tuple(tensor.shape)}, its config says {shape}"
            raise ModelError(f"{config.name}: {wrong}; config and weights are not of one model, copy them again")
        return tensor.to(device=device, dtype=dtype)

    embed_tokens = get("embed_tokens", config.vocab_size, config.hidden_size)
    shapes = layer_shapes(config)
    layers = [
        LayerWeights(**{name: get(f"layers.{index}.{name}", *shape) for name, shape in shapes.items()})
        for index in range(config.num_hidden_layers)
    ]
    norm = get("norm", config.hidden_size)
    tied = config.tie_word_embeddings
    lm_head = embed_tokens if tied else get("lm_head", config.vocab_size, config.hidden_size)
    return Weights(embed_tokens, layers, norm, lm_head)
