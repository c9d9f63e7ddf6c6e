# exercise: forward
# WRONG: its own layer loop forgets config.rope_theta
# SAYS: Queries and keys are turned with the default base: pass config.rope_theta.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, __import__('dataclasses').replace(config, rope_theta=10000.0), positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T
