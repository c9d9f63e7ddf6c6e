# exercise: decode_step
# WRONG: gives logits (B, 1, V): the dimension of the tokens is kept
# SAYS: Your logits are (B, 1, V). One token is fed, and its one position is to be taken out: [:, -1] gives (B, V).

def decode_step(model, ids, cache):
    return forward_cached(model, ids, cache)
