# exercise: causal_mask
# WRONG: ones and zeros as integers
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.int64).tril(k_len - q_len)
