# exercise: causal_mask
# WRONG: a query sees itself and what comes after
# SAYS: A query sees itself and what comes after: it should see what stands before.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).triu(k_len - q_len)
