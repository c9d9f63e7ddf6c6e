# exercise: causal_mask
# WRONG: a query sees only itself
def causal_mask(q_len, k_len):
    return torch.arange(k_len) == torch.arange(k_len - q_len, k_len)[:, None]
