# exercise: forward
# WRONG: the final norm after every layer
# SAYS: The final norm is used after every layer: it stands once, after the last.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = rms_norm(decoder_block(x, layer, config, positions), weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
