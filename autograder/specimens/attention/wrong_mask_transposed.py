# exercise: causal_mask
# WRONG: keys are rows
# SAYS: The keys are rows: queries are rows, keys are columns.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len).T.contiguous()
