# exercise: causal_mask
# WRONG: ones and zeros as floats
# SAYS: The mask holds ones and zeros as floats: a comparison gives bool.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len).tril(k_len - q_len)
