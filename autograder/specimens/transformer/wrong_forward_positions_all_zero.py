# exercise: forward
# WRONG: every token stands at position 0
# SAYS: Every token stands at position 0: they count 0, 1, 2, ...
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.zeros(ids.shape[1], dtype=torch.int64, device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
