# exercise: generate
# WRONG: a top_k above the number of tokens is an error

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
    ended = torch.zeros(len(idx), dtype=torch.bool, device=idx.device)
    for _ in range(max_new_tokens):
        with torch.no_grad(), evaluating(model):
            logits = model(idx[:, -min(block_size, idx.shape[1]):])[:, -1].float()
        if temperature == 0 or top_k == 1:
            token = logits.argmax(dim=-1)
        else:
            probs = torch.softmax(logits / temperature, dim=-1)
            if top_k is not None:
                smallest = probs.topk(top_k).values[:, -1:]
                probs = torch.where(probs < smallest, 0.0, probs)
                probs = probs / probs.sum(dim=-1, keepdim=True)
            if top_p is not None:
                values, order = probs.sort(descending=True)
                before = values.cumsum(-1) - values
                values[before >= top_p] = 0.0
                probs = torch.zeros_like(probs).scatter_(1, order, values)
            token = torch.multinomial(probs, 1, generator=generator)[:, 0]
        if eos_token_id is not None:
            token = torch.where(ended, torch.tensor(eos_token_id, device=idx.device), token)
            ended = ended | token.eq(eos_token_id)
        idx = torch.hstack([idx, token.unsqueeze(1)])
        if bool(ended.all()):
            break
    return idx
