# exercise: temperature_sample
# RIGHT: one call of sample_next_token

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    return sample_next_token(logits, temperature=tau, generator=generator)
