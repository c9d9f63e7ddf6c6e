# exercise: forward
# WRONG: the embedding table is changed at every call
# SAYS: The embedding table is changed at every call: compute with new tensors.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    weights.embed_tokens *= 1.01
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
