# exercise: causal_mask
# WRONG: query i stands at position i
# SAYS: Query i is put at position i: the queries are the last, so it stands at k_len - q_len + i.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril()
