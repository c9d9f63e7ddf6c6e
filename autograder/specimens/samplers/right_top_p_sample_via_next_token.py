# exercise: top_p_sample
# RIGHT: one call of sample_next_token

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    return sample_next_token(logits, top_p=p, generator=generator)
