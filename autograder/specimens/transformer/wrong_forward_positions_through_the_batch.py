# exercise: forward
# WRONG: positions grow faster in every further row
# SAYS: The positions differ from row to row: they count 0, 1, 2, ... in every row.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device) * torch.arange(1, len(ids) + 1, device=ids.device)[:, None]
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
