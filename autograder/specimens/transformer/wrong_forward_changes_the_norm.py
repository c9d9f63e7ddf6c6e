# exercise: forward
# WRONG: the final norm's weights are multiplied into the model at every call
# SAYS: The model's weights are changed by the call: the next one computes with others.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    logits = rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
    weights.norm.mul_(1.01)
    return logits
