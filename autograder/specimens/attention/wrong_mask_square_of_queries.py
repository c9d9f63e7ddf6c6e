# exercise: causal_mask
# WRONG: only the new tokens, as if nothing came before them
# SAYS: Only the new tokens are in the mask, as if nothing came before them: its columns are all k_len keys.
def causal_mask(q_len, k_len):
    mask = torch.zeros(q_len, k_len, dtype=torch.bool)
    mask[:, k_len - q_len:] = torch.ones(q_len, q_len, dtype=torch.bool).tril()
    return mask
