# exercise: generate_batch
# RIGHT: rows that have ended leave batch and cache, so the others go on in a smaller one; one question a step
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
    """The new tokens of each prompt, up to and including its first eos_token_id.

    Prompts may have unequal lengths and any order; each row gets what it would get alone. The loop ends as soon as
    every row has ended; what a row is fed after its end makes no difference. device, dtype: where and in what precision to
    compute; None is the model's own. No gradient is recorded, and the caller's gradient mode is left as it was. At most one
    transfer a step waits for the device. Nothing is cut: a text may grow past the positions that the model was trained on.
    Raises ValueError as `left_pad` does.
    """
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    answers: list[list[int]] = [[] for _ in prompts]
    here = list(range(len(prompts)))
    token = None
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = prefill_batch(model, ids, num_pad, cache) if token is None else decode_batch(model, token, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            news = token[:, 0].tolist()  # the one question a step
            for row, new in zip(here, news, strict=True):
                answers[row].append(new)
            stay = [place for place, new in enumerate(news) if new != eos_token_id]
            if not stay:
                break
            if len(stay) < len(here):
                here = [here[place] for place in stay]
                token, num_pad = token[stay], num_pad[stay]
                cache.keys, cache.values = cache.keys[:, stay], cache.values[:, stay]
    return answers
