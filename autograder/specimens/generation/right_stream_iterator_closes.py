# exercise: stream
# RIGHT: an object with __next__ and a with of its own for each token; ids in a list

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
    class Tokens:
        def __init__(self):
            self.ids, self.left = idx[0].tolist(), max_new_tokens

        def __iter__(self):
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            with torch.no_grad(), evaluating(model):
                logits = model(torch.tensor([self.ids[-block_size:]]))[:, -1]
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator).item()
            self.ids.append(token)
            self.left = 0 if token == eos_token_id else self.left - 1
            return token

    return Tokens()
