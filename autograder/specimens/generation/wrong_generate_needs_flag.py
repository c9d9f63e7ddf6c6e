# exercise: generate
# WRONG: asks every callable for eval
def generate(
    model: Model,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    was_training = model.training
    if was_training:
        model.eval()
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    try:
        with torch.no_grad():
            for _ in range(max_new_tokens):
                logits = model(idx[:, -block_size:])[:, -1]  # (B, T, V) -> (B, V): the last predicts the next
                token = sample_next_token(
                    logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator
                )
                if eos_token_id is not None:
                    token = token.masked_fill(ended, eos_token_id)
                    ended = ended | (token == eos_token_id)
                idx = torch.cat((idx, token), dim=1)
                if ended.all():
                    break
    finally:
        if was_training:
            model.train()
    return idx
