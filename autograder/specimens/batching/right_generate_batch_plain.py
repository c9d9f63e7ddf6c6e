# exercise: generate_batch
# RIGHT: step by step; most of the wrong versions are edits of it

def generate_batch(
    model: WeightsOnly,
    prompts: list[list[int]],
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    pad_id: int = 0,
    generator: torch.Generator | None = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
) -> list[list[int]]:
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device)
    tokens: list[Tensor] = []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = decode_batch(model, tokens[-1], num_pad, cache) if tokens else prefill_batch(model, ids, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
