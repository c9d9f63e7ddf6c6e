# exercise: causal_mask
# WRONG: query i stands at position i
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril()
