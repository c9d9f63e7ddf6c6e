# exercise: decode_batch
# WRONG: num_pad is forgotten once the pads are less than the tokens decoded (as if they had slid out)
def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    pads = torch.where(num_pad * 32 < cache.length, torch.zeros_like(num_pad), num_pad)
    return prefill_batch(model, ids, pads, cache)
