# exercise: causal_mask
# WRONG: a query does not see itself
# SAYS: A query does not see itself: the comparison is less than or equal.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len - 1)
