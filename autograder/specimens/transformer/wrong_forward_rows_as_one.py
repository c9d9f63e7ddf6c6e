# exercise: forward
# WRONG: all rows are read as one long text
# SAYS: All rows are read as one long text: no row may look at another.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids.reshape(1, -1)]
    positions = torch.arange(ids.numel(), device=ids.device)
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return (x @ weights.lm_head.T).view(*ids.shape, -1)
