# exercise: forward
# WRONG: always the embedding for a head, tied or not
# SAYS: The embedding is used for the head: it is weights.lm_head, which may be another table.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.embed_tokens.T
