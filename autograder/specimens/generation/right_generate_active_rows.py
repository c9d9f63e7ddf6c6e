# exercise: generate
# RIGHT: rows that have ended leave the batch

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    was = getattr(model, "training", False)
    if was:
        model.eval()
    grown = idx.clone()
    active = torch.arange(len(idx))
    try:
        with torch.no_grad():
            for _ in range(max_new_tokens):
                if len(active) == 0:
                    break
                logits = model(grown[active, -block_size:])[:, -1]
                new = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
                column = torch.full((len(grown), 1), eos_token_id if eos_token_id is not None else 0)
                column[active] = new
                grown = torch.cat([grown, column], dim=-1)
                if eos_token_id is not None:
                    active = active[new[:, 0] != eos_token_id]
    finally:
        if was:
            model.train()
    return grown
