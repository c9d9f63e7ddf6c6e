# exercise: generate
# RIGHT: one token, then the rest by itself

from contextlib import contextmanager


@contextmanager
def evaluating(model):
    """The model and its parts in evaluation mode; afterwards each has its own flag again."""
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    flags = [part.training for part in parts]
    for part in parts:
        part.training = False
    try:
        yield
    finally:
        for part, flag in zip(parts, flags):
            part.training = flag


def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    options = dict(block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, eos_token_id=eos_token_id, generator=generator)

    def grow(ids, ended, left):
        if left == 0 or bool(ended.all()):
            return ids
        logits = model(ids[:, -block_size:])[:, -1]
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        if eos_token_id is not None:
            token = torch.where(ended, torch.full_like(token, eos_token_id), token)
            ended = ended.logical_or(token == eos_token_id)
        return grow(torch.cat((ids, token), 1), ended, left - 1)

    with torch.no_grad(), evaluating(model):
        result = grow(idx, torch.zeros_like(idx[:, :1], dtype=torch.bool), max_new_tokens)
    return result
