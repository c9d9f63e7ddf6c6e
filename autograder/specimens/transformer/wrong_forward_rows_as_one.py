# exercise: forward
# WRONG: all rows are read as one long text
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1])
    x = weights.embed_tokens[ids.reshape(1, -1)]
    positions = torch.arange(ids.numel())
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return (x @ weights.lm_head.T).view(*ids.shape, -1)
