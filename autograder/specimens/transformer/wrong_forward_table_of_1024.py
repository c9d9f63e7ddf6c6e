# exercise: forward
# WRONG: positions from a table of 1,024: a longer text has none
# SAYS: The positions come from a table of 1,024: count them from the ids, however many there are.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(1024, device=ids.device)[: ids.shape[1]]
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
