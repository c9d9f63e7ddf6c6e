# exercise: causal_mask
# WRONG: a query sees itself and the last three before it only
# SAYS: A query sees itself and three tokens before it: it sees everything before it.
def causal_mask(q_len, k_len):
    at = torch.arange(k_len - q_len, k_len)[:, None]
    keys = torch.arange(k_len)
    return (keys <= at) & (keys > at - 4)
