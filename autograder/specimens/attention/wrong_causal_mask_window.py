# exercise: causal_mask
# WRONG: only the last 256 keys
# SAYS: Only the last 256 keys may be seen: a query sees everything before it.
def causal_mask(q_len, k_len):
    m = torch.ones(q_len, k_len, dtype=torch.bool)
    return m.tril(k_len - q_len) & m.triu(k_len - q_len - 255)
