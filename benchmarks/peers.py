"""Other libraries' models with the kit's weights: oracles for tests, rivals for benchmarks."""

from typing import Any

from course.kit import WeightsOnly


def transformers_twin(model: WeightsOnly) -> Any:
    """Return transformers' own Llama with the kit's weights, copied without a file format in between."""
    import transformers

    config, weights = model.config, model.weights
    shell = transformers.LlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        num_key_value_heads=config.num_key_value_heads,
        head_dim=config.head_dim,
        rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
        rms_norm_eps=config.rms_norm_eps,
        max_position_embeddings=config.max_position_embeddings,
        tie_word_embeddings=config.tie_word_embeddings,
        pad_token_id=None,
        bos_token_id=config.bos_token_id,
        eos_token_id=config.eos_token_id,
    )
    state = {"model.embed_tokens.weight": weights.embed_tokens, "model.norm.weight": weights.norm, "lm_head.weight": weights.lm_head}
    for index, layer in enumerate(weights.layers):
        for name, tensor in vars(layer).items():
            part = "self_attn." if name[1:] == "_proj" else "mlp." if name.endswith("_proj") else ""
            state[f"model.layers.{index}.{part}{name}.weight"] = tensor
    theirs = transformers.LlamaForCausalLM(shell).to(model.dtype).eval()
    theirs.load_state_dict(state)
    return theirs
