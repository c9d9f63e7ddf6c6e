# exercise: forward
# WRONG: every token stands at position 0
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.zeros(ids.shape[1], dtype=torch.int64)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
