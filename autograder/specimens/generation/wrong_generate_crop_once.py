# exercise: generate
# WRONG: crops the prompt for the model, then lets its window grow

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    was_training = getattr(model, "training", False)
    if was_training:
        model.eval()
    ended = torch.zeros(len(idx), 1, dtype=torch.bool)
    start = max(0, idx.shape[1] - block_size)
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = model(idx[:, start:])[:, -1]
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    if was_training:
        model.train()
    return idx
