# exercise: causal_mask
# WRONG: ones and zeros as integers
# SAYS: The mask holds ones and zeros as integers: a comparison gives bool.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.int64).tril(k_len - q_len)
