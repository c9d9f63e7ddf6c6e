# exercise: decode_batch
# WRONG: logits (B, 1, V)

def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    return prefill_batch(model, ids, num_pad, cache)[:, None]  # a chunk of one token: the cache knows where it stands
