# exercise: forward
# WRONG: layers in reversed order
# SAYS: The layers are used in reversed order.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in reversed(weights.layers):
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
