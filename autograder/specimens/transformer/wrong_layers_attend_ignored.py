# exercise: run_layers
# WRONG: attend is never called: every layer reads causally
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions)
    return rms_norm(x, weights.norm, config.rms_norm_eps)
