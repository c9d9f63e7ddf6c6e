# exercise: causal_mask
# WRONG: cut from a buffer of 128 positions
# SAYS: The mask is cut from one of 128 positions: make it from q_len and k_len.
_buffer = None
def causal_mask(q_len, k_len):
    global _buffer
    if _buffer is None:
        _buffer = torch.ones(128, 128, dtype=torch.bool).tril()
    return _buffer[k_len - q_len:k_len, :k_len]
