# exercise: forward
# WRONG: x @ lm_head where the shapes allow it
# SAYS: The head is not transposed where it is square: x @ lm_head.T.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    h = weights.lm_head
    return x @ (h if h.shape[0] == x.shape[-1] else h.T)
