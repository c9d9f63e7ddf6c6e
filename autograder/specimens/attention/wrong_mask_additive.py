# exercise: causal_mask
# WRONG: zeros and -inf to be added, instead of bool
# SAYS: The mask is made of zeros and -inf: it should be bool, True where attention is allowed.
def causal_mask(q_len, k_len):
    return torch.full((q_len, k_len), float("-inf")).triu(k_len - q_len + 1)
