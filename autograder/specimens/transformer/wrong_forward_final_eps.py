# exercise: forward
# WRONG: the final norm's eps is always 1e-6
# SAYS: The final norm's eps is always 1e-6: it is config.rms_norm_eps.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, 1e-6)
    return x @ weights.lm_head.T
