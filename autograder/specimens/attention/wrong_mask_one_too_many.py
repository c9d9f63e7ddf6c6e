# exercise: causal_mask
# WRONG: a query sees the token after it
# SAYS: A query sees the token after it: its own position is the last that it sees.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len + 1)
