# exercise: stream
# WRONG: a prompt that ends in EOS gives nothing

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


def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    if eos_token_id is not None and int(idx[0, -1]) == eos_token_id:
        return
    for _ in range(max_new_tokens):
        with torch.no_grad(), evaluating(model):
            logits = model(idx[:, -block_size:])[:, -1]
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        idx = torch.cat((idx, token), dim=1)
        yield token.item()
        if token.item() == eos_token_id:
            return
