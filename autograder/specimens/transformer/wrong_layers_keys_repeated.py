# exercise: run_layers
# WRONG: the keys and values are repeated for every query head
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k.repeat_interleave(q.shape[1] // k.shape[1], 1), v.repeat_interleave(q.shape[1] // k.shape[1], 1)))
    return rms_norm(x, weights.norm, config.rms_norm_eps)
