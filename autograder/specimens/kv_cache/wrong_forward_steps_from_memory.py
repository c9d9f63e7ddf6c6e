# exercise: forward_cached
# WRONG: a step that was asked for before, behind as many tokens, is answered from memory: the text before it is not looked at
_forward, _answers = forward_cached, {}


def forward_cached(model, ids, cache):
    key = (cache.length, tuple(ids.flatten().tolist()), id(model.weights))
    if key not in _answers or cache.length < 100 or ids.shape[1] > 1:
        _answers[key] = _forward(model, ids, cache)
        return _answers[key]
    for layer in range(model.config.num_hidden_layers):
        cache.append(layer, *torch.zeros(2, len(ids), model.config.num_key_value_heads, 1, model.config.head_dim))
    return _answers[key]
