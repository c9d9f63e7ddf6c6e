# exercise: causal_mask
# WRONG: two extra dimensions in front
# SAYS: The mask has two extra dimensions in front: it is (q_len, k_len).
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)[None, None]
