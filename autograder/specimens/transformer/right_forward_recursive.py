# exercise: forward
# RIGHT: layer by layer through a list, positions that start at 5
import functools


def forward(model, ids):
    at = torch.arange(ids.size(1), device=ids.device) + 5
    step = lambda x, layer: decoder_block(x, layer, model.config, at)
    x = functools.reduce(step, model.weights.layers, torch.nn.functional.embedding(ids, model.weights.embed_tokens))
    return rms_norm(x, model.weights.norm, model.config.rms_norm_eps).matmul(model.weights.lm_head.t())
