# exercise: decode_step
# WRONG: remembers the logits by token and length: a second text of the same length gets those of the first

_SEEN = {}


def decode_step(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    """Feed the one newest token of each row; the logits of the token after it.

    ids (B, 1) int64 -> (B, V).
    """
    key = (id(model), cache.length, tuple(ids.flatten().tolist()))
    logits = forward_cached(model, ids, cache)[:, -1]
    return _SEEN.setdefault(key, logits)
