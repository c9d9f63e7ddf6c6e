# exercise: forward
# WRONG: every layer reads the embedding
# SAYS: Every layer reads the embedding: each reads what the one before it gave.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(weights.embed_tokens[ids], layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
