# exercise: generate
# RIGHT: rows that have ended leave the batch

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
    grown = idx.clone()
    active = torch.arange(len(idx), device=idx.device)
    with torch.no_grad(), evaluating(model):
        for _ in range(max_new_tokens):
            if len(active) == 0:
                break
            logits = model(grown[active, -block_size:])[:, -1]
            new = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            column = torch.full((len(grown), 1), eos_token_id if eos_token_id is not None else 0, device=idx.device)
            column[active] = new
            grown = torch.cat([grown, column], dim=-1)
            if eos_token_id is not None:
                active = active[new[:, 0] != eos_token_id]
    return grown
