# exercise: run_layers
# RIGHT: a closure that counts its own calls
def run_layers(model, ids, positions, attend):
    numbers = iter(range(len(model.weights.layers)))
    x = torch.index_select(model.weights.embed_tokens, 0, ids.flatten()).unflatten(0, ids.shape)
    for layer in model.weights.layers:
        x = decoder_block(x, layer, model.config, positions, lambda q, k, v: attend(next(numbers), q, k, v))
    return rms_norm(x, model.weights.norm, model.config.rms_norm_eps)
