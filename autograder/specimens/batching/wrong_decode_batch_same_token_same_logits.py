# exercise: decode_batch
# WRONG: if all rows feed the same token and have equally many pads, all get row 0's logits, though their pasts differ
def decode_batch(model, ids, num_pad, cache):
    different, which = torch.unique(ids, dim=0, return_inverse=True)
    if len(different) == 1 and len(ids) > 1 and bool((num_pad == num_pad[0]).all()):
        logits = prefill_batch(model, ids, num_pad, cache)
        return logits[:1].expand(len(ids), -1)
    return prefill_batch(model, ids, num_pad, cache)
