# exercise: generate
# RIGHT: step by step; most of the wrong versions are edits of it

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
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad(), evaluating(model):
        for _ in range(max_new_tokens):
            logits = model(idx[:, -block_size:])[:, -1]
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx
