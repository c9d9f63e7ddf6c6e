# exercise: run_layers
# WRONG: queries and keys are turned a second time
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta), v))
    return rms_norm(x, weights.norm, config.rms_norm_eps)
