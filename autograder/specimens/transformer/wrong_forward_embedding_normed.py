# exercise: forward
# WRONG: embeddings normed first
# SAYS: The embeddings are normed before the first layer: each layer norms its own copy.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = rms_norm(weights.embed_tokens[ids], weights.norm, config.rms_norm_eps)
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
