# exercise: forward
# WRONG: every second row of a batch larger than four is computed with the row before
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids if len(ids) <= 4 else ids[torch.arange(len(ids)) // 2 * 2]]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
