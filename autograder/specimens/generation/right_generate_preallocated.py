# exercise: generate
# RIGHT: one tensor of full length, filled with EOS beforehand, cut at the end

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
    rows, t = idx.shape
    out = torch.full((rows, t + max_new_tokens), -1 if eos_token_id is None else eos_token_id, device=idx.device)
    out[:, :t] = idx
    open_rows = torch.ones(rows, dtype=torch.bool, device=idx.device)
    with torch.no_grad(), evaluating(model):
        for end in range(t, t + max_new_tokens):
            window = out[:, max(0, end - block_size) : end]
            token = sample_next_token(model(window)[:, -1, :], temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)[:, 0]
            out[open_rows, end] = token[open_rows]
            t = end + 1
            if eos_token_id is not None:
                open_rows &= token != eos_token_id
                if not open_rows.any():
                    break
    return out[:, :t]
