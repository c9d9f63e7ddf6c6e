# exercise: causal_mask
# WRONG: a single query sees key 0 only
# SAYS: A single query sees key 0 only: it stands after all keys before it and sees every one.
def causal_mask(q_len, k_len):
    if q_len == 1:
        return torch.arange(k_len)[None] == 0
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)
