# exercise: decode_step
# WRONG: feeds the rows one after another into the same slots of a cache of one row each

def decode_step(model, ids, cache):
    return torch.cat([forward_cached(model, ids[i : i + 1].expand_as(ids), cache)[:1, -1] for i in range(len(ids))])
