# exercise: forward
# WRONG: embeddings times the root of D
# SAYS: The embeddings are multiplied by the root of D: they are used as they are.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids] * config.hidden_size**0.5
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
