# exercise: forward
# WRONG: reads each token one place late
# SAYS: Each token is read one place late.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids.roll(1, dims=1)]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
