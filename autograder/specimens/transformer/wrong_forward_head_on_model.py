# exercise: forward
# WRONG: the model is changed: the transposed head is stored on it, and used after the weights were replaced
def forward(model, ids):
    weights, config = model.weights, model.config
    if not hasattr(model, "_head"):
        model._head = weights.lm_head.T.contiguous()
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ model._head
