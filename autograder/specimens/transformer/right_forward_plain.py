# exercise: forward
# RIGHT: step by step; most of the wrong versions are edits of it
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
