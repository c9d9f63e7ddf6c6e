"""The numbers that fix a Llama model's shape, read from a `config.json` or from a GGUF file's metadata."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError


@dataclass(frozen=True)
class Config:
    """Shape and constants of a decoder. Field names are those of Hugging Face's Llama; letters such as D and H are the course's."""

    name: str
    vocab_size: int  # V
    hidden_size: int  # D
    intermediate_size: int  # F
    num_hidden_layers: int  # L
    num_attention_heads: int  # H
    num_key_value_heads: int  # K, divides H
    head_dim: int  # Dh, even
    rope_theta: float
    rms_norm_eps: float
    max_position_embeddings: int
    tie_word_embeddings: bool
    bos_token_id: int | None
    eos_token_id: int | None


def config_from_hf(values: Mapping[str, Any], name: str) -> Config:
    """Return the Config of a `config.json`'s contents. Raises ModelError, which names the first thing that is not plain Llama."""
    rope = values.get("rope_parameters") or values.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    allowed = {"model_type": "llama", "hidden_act": "silu", "attention_bias": False, "mlp_bias": False}
    found = {key: values.get(key, want if key != "model_type" else None) for key, want in allowed.items()}
    found |= {"rope_type": kind, "quantization_config": values.get("quantization_config")}
    allowed |= {"rope_type": "default", "quantization_config": None}
    for key, want in allowed.items():
        if found[key] != want:
            raise ModelError(f"{name}: {key} is {found[key]!r}, the kit runs models with {want!r} only")
    try:
        num_heads, width = values["num_attention_heads"], values["hidden_size"]
        config = Config(
            name=name,
            vocab_size=values["vocab_size"],
            hidden_size=width,
            intermediate_size=values["intermediate_size"],
            num_hidden_layers=values["num_hidden_layers"],
            num_attention_heads=num_heads,
            num_key_value_heads=values.get("num_key_value_heads") or num_heads,
            head_dim=values.get("head_dim") or width // num_heads,
            rope_theta=float(rope.get("rope_theta", values.get("rope_theta", 10_000.0))),
            rms_norm_eps=float(values.get("rms_norm_eps", 1e-6)),
            max_position_embeddings=values.get("max_position_embeddings", 2048),
            tie_word_embeddings=bool(values.get("tie_word_embeddings", False)),
            bos_token_id=_first(values.get("bos_token_id")),
            eos_token_id=_first(values.get("eos_token_id")),
        )
    except KeyError as error:
        raise ModelError(f"{name}: config.json has no {error}; copy the whole folder of the model again") from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelError(f"{name}: config.json is damaged ({error}); copy it again") from None
    return check(config)


NEUTRAL: dict[str, tuple[Any, ...]] = {
    "llama.rope.scaling.type": ("none",),
    "llama.rope.scale_linear": (0, 1),
    "llama.expert_count": (0,),
    "llama.attention.causal": (True,),
    "llama.attention.scale": (0,),
    "llama.attention.max_alibi_bias": (0,),
    "llama.attention.clamp_kqv": (0,),
    "llama.attn_logit_softcapping": (0,),
    "llama.final_logit_softcapping": (0,),
    "llama.logit_scale": (0, 1),
    "llama.embedding_scale": (0, 1),
    "llama.residual_scale": (0, 1),
    "llama.use_parallel_residual": (False,),
    "llama.swin_norm": (False,),
}
"""The values that each of these keys may have in a GGUF file for the model to be a plain Llama; the key may also be missing."""
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
"""The names of weights in a GGUF file: {a layer's weight: its name in the file}."""
GGUF_TENSOR = re.compile(rf"(?:token_embd|output_norm|output)\.weight|blk\.(\d+)\.(?:{'|'.join(GGUF_NAMES.values())})\.weight")


def config_from_gguf(metadata: Mapping[str, Any], tensors: Mapping[str, Any], name: str) -> Config:
    """Return the Config of a GGUF file's metadata and the shapes of its tensors (rows first).

    Raises ModelError, which names the first thing that is not plain Llama. A tensor that a plain Llama model does not have is refused, too.
    """
    if (parts := metadata.get("split.count", 1)) not in (0, 1):
        part = metadata.get("split.no", 0)
        raise ModelError(
            f"{name}: this is part {part + 1 if isinstance(part, int) else part} of {parts}, the kit reads a model in one file; "
            "join them with llama.cpp's `llama-gguf-split --merge`"
        )
    architecture = metadata.get("general.architecture")
    if architecture != "llama":
        raise ModelError(f"{name}: the architecture is {architecture!r}, the kit runs GGUF files of 'llama' only")
    for key, neutral in NEUTRAL.items():
        if metadata.get(key) is not None and metadata[key] not in neutral:
            raise ModelError(f"{name}: {key} is {metadata[key]!r}, the kit runs plain Llama models only")
    try:
        num_heads, width = metadata["llama.attention.head_count"], metadata["llama.embedding_length"]
        config = Config(
            name=name,
            vocab_size=tensors["token_embd.weight"].shape[0],
            hidden_size=width,
            intermediate_size=metadata["llama.feed_forward_length"],
            num_hidden_layers=metadata["llama.block_count"],
            num_attention_heads=num_heads,
            num_key_value_heads=metadata.get("llama.attention.head_count_kv", num_heads),
            head_dim=metadata.get("llama.attention.key_length", width // num_heads),
            rope_theta=float(metadata.get("llama.rope.freq_base", 10_000.0)),
            rms_norm_eps=_short_float(metadata["llama.attention.layer_norm_rms_epsilon"]),
            max_position_embeddings=metadata["llama.context_length"],
            tie_word_embeddings="output.weight" not in tensors,
            bos_token_id=metadata.get("tokenizer.ggml.bos_token_id"),
            eos_token_id=metadata.get("tokenizer.ggml.eos_token_id"),
        )
        turned = metadata.get("llama.rope.dimension_count", config.head_dim)
    except KeyError as error:
        raise ModelError(f"{name}: the GGUF file has no {error}; it is damaged or no model, fetch it again") from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelError(f"{name}: the GGUF file's metadata is damaged ({error}); fetch it again") from None
    if turned != config.head_dim:
        raise ModelError(f"{name}: RoPE turns {turned} of {config.head_dim} entries, the kit runs models that turn all")
    check(config)
    window = metadata.get("llama.attention.sliding_window", 0)
    if isinstance(window, int) and 0 < window < config.max_position_embeddings:
        raise ModelError(f"{name}: a token sees the last {window:,} tokens only, the kit runs models without such a window")
    for tensor in tensors:
        found = GGUF_TENSOR.fullmatch(tensor)
        if found is None or (found[1] is not None and int(found[1]) >= config.num_hidden_layers):
            raise ModelError(f"{name}: tensor {tensor} is not part of a plain Llama model, and the kit runs no others")
    return config


def check(config: Config) -> Config:
    """Return the same config, or raise ModelError if its numbers do not fit together."""
    counts = {
        key: value for key, value in vars(config).items() if key.startswith("num_") or key.endswith(("size", "dim"))
    }
    for key, value in counts.items():
        if not isinstance(value, int) or value < 1:
            raise ModelError(f"{config.name}: {key} is {value!r}; the config is damaged, copy it again")
    if config.num_attention_heads % config.num_key_value_heads:
        heads = f"{config.num_attention_heads} query heads over {config.num_key_value_heads} key/value heads"
        raise ModelError(f"{config.name}: {heads} do not divide evenly; the config is damaged, copy it again")
    for key in ("bos_token_id", "eos_token_id"):
        token = getattr(config, key)
        if token is not None and not (isinstance(token, int) and 0 <= token < config.vocab_size):
            raise ModelError(f"{config.name}: {key} is {token!r}, but there are {config.vocab_size:,} tokens; copy the config again")
    if config.head_dim % 2:
        raise ModelError(f"{config.name}: head_dim is {config.head_dim}, RoPE needs an even one; copy the config again")
    return config


def _first(token_id: int | list[int] | None) -> int | None:
    """Return the end token. If a config lists several, return the first, which is the tokenizer's."""
    return token_id[0] if isinstance(token_id, list) else token_id


def _short_float(value: float) -> float:
    """Return the number rounded to six digits: GGUF stores float32, where 1e-05 becomes 9.999999747378752e-06."""
    return float(f"{value:.6g}")
