# exercise: causal_mask
# WRONG: a query sees only itself
# SAYS: A query sees only itself: it sees everything before it too.
def causal_mask(q_len, k_len):
    return torch.arange(k_len) == torch.arange(k_len - q_len, k_len)[:, None]
