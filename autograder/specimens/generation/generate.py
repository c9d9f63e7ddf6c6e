# Versions of `generate`. The wrong ones here are edits of the right one above them.

# %% right_generate_own_sampler
# RIGHT: filters and draws by itself, with multinomial

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
                smallest = probs.topk(min(top_k, probs.shape[-1])).values[:, -1:]
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

# %% wrong_generate_half_logits, of right_generate_own_sampler
# WRONG: turns the logits to 16 bits before it draws
# -             logits = model(idx[:, -min(block_size, idx.shape[1]):])[:, -1].float()
# +             logits = model(idx[:, -min(block_size, idx.shape[1]):])[:, -1].half()

# %% wrong_generate_bfloat16_logits, of right_generate_own_sampler
# WRONG: turns the logits to bfloat16 before it draws
# -             logits = model(idx[:, -min(block_size, idx.shape[1]):])[:, -1].float()
# +             logits = model(idx[:, -min(block_size, idx.shape[1]):])[:, -1].bfloat16()

# %% wrong_generate_top_p_after_top_k_by_the_mean, of right_generate_own_sampler
# WRONG: after top_k divides by the mean, so that top_p cuts too soon
# -                 probs = probs / probs.sum(dim=-1, keepdim=True)
# +                 probs = probs / probs.mean(dim=-1, keepdim=True)

# %% wrong_generate_top_p_of_all_after_top_k, of right_generate_own_sampler
# WRONG: top_p counts the mass before top_k, not what top_k left
# -                 probs = probs / probs.sum(dim=-1, keepdim=True)

# %% wrong_generate_top_p_border, of right_generate_own_sampler
# WRONG: keeps one token more where the mass is exactly p
# -                 values[before >= top_p] = 0.0
# +                 values[before > top_p] = 0.0

# %% wrong_generate_top_k_above_vocabulary, of right_generate_own_sampler
# WRONG: a top_k above the number of tokens is an error
# -                 smallest = probs.topk(min(top_k, probs.shape[-1])).values[:, -1:]
# +                 smallest = probs.topk(top_k).values[:, -1:]
