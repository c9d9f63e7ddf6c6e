# exercise: causal_mask
# WRONG: cut from a buffer of 1,024 positions: too small for a longer text
# SAYS: The mask is cut from one of 1,024 positions: a longer text gets too small a mask. Make it from q_len and k_len.
def causal_mask(q_len, k_len):
    keys = torch.arange(1024)
    return (keys <= keys[:, None])[k_len - q_len : k_len, :k_len]
