# exercise: top_k_sample
# RIGHT: one call of sample_next_token

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    return sample_next_token(logits, top_k=k, generator=generator)
