# exercise: causal_mask
# WRONG: always (k_len, k_len)
# SAYS: The mask is always (k_len, k_len): its rows are the queries, q_len of them.
def causal_mask(q_len, k_len):
    return torch.ones(k_len, k_len, dtype=torch.bool).tril()
