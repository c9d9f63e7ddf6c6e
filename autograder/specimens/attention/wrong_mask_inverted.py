# exercise: causal_mask
# WRONG: True where attention is forbidden
# SAYS: True stands where attention is forbidden: True means that the query may see the key.
def causal_mask(q_len, k_len):
    return ~torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)
