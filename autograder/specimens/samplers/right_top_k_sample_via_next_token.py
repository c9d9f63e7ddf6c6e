# exercise: top_k_sample
# RIGHT: one call of sample_next_token

def top_k_sample(logits, k, generator=None):
    return sample_next_token(logits, top_k=k, generator=generator)
