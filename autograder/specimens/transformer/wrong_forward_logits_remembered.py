# exercise: forward
# WRONG: logits are remembered on the model by the ids; they stay when the weights change
def forward(model, ids):
    weights, config = model.weights, model.config
    memory = model.__dict__.setdefault("_memory", {})
    key = (tuple(ids.shape), tuple(ids.flatten().tolist()))
    if key not in memory:
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = weights.embed_tokens[ids]
        for layer in weights.layers:
            x = decoder_block(x, layer, config, positions)
        memory[key] = rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
    return memory[key]
