# exercise: generate
# RIGHT: lists of ids, a tensor made for each call

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
    rows = idx.tolist()
    done = [False] * len(rows)
    n = 0
    while n < max_new_tokens and not all(done):
        with torch.no_grad(), evaluating(model):
            logits = model(torch.tensor([row[-block_size:] for row in rows], device=idx.device))
        tokens = sample_next_token(logits[:, -1], temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        for i, token in enumerate(tokens.flatten().tolist()):
            rows[i].append(eos_token_id if done[i] else token)
            done[i] = done[i] or token == eos_token_id
        n += 1
    return torch.tensor(rows, dtype=torch.long, device=idx.device)
