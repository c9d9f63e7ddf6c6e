# exercise: stream
# RIGHT: yields from an inner generator, which asks for EOS before it hands the token over

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
    def tokens(ids):
        for left in range(max_new_tokens, 0, -1):
            with torch.no_grad(), evaluating(model):
                logits = model(ids[:, -block_size:])
            new = sample_next_token(logits[:, -1], temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            ids = torch.cat([ids, new], dim=1)
            last = eos_token_id is not None and new.item() == eos_token_id
            yield new.item()
            if last:
                return

    yield from tokens(idx)
