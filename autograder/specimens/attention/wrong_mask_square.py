# exercise: causal_mask
# WRONG: always (k_len, k_len)
def causal_mask(q_len, k_len):
    return torch.ones(k_len, k_len, dtype=torch.bool).tril()
