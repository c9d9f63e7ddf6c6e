# exercise: run_layers
# WRONG: the last layer reads with causal attention, attend is not called for it
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, (lambda q, k, v, number=number: attend(number, q, k, v)) if number < len(weights.layers) - 1 else None)
    return rms_norm(x, weights.norm, config.rms_norm_eps)
