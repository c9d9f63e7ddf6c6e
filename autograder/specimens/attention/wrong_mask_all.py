# exercise: causal_mask
# WRONG: everything is allowed
# SAYS: Everything is allowed: a query sees nothing after itself.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool)
