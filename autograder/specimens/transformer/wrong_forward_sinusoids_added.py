# exercise: forward
# WRONG: sinusoids added to the embeddings
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1])
    x = weights.embed_tokens[ids] + torch.sin(torch.arange(ids.shape[1])[:, None] * 10000.0 ** (-torch.arange(config.hidden_size) / config.hidden_size))
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
