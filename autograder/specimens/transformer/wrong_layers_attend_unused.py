# exercise: run_layers
# WRONG: attend is called, and its result is not used
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: (attend(number, q, k, v), attention(q, k, v, causal_mask(q.shape[2], q.shape[2]).to(q.device)))[1])
    return rms_norm(x, weights.norm, config.rms_norm_eps)
