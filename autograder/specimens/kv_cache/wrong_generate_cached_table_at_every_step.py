# exercise: generate_cached
# WRONG: sines and cosines of the whole window are worked out in Python at every step
import math


def generate_cached(
    model: WeightsOnly,
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
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            angles = [place * model.config.rope_theta ** (-i / model.config.head_dim) for place in range(block_size) for i in range(0, 128, 2)]
            table = [(math.cos(angle), math.sin(angle)) for angle in angles]
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device
                break
    return idx
