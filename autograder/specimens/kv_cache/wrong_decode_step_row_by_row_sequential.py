# exercise: decode_step
# WRONG: one pass of the model for each row, the others' rows riding along: B times the work
def decode_step(model, ids, cache):
    rows = []
    n = cache.length
    for b in range(len(ids)):
        cache.counts = [n] * len(cache.counts)
        rows.append(forward_cached(model, ids, cache)[b, -1])
    return torch.stack(rows)
