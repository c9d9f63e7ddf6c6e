# exercise: top_p_sample
# WRONG: the random numbers are made on the CPU, wherever the logits lie
def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p)
    return draw(probs, torch.rand(len(probs), 1, generator=generator))
