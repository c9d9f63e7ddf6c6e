# exercise: top_k_sample
# WRONG: the random numbers are made on the CPU, wherever the logits lie
def top_k_sample(logits, k, generator=None):
    probs = top_k_probs(logits, k)
    return draw(probs, torch.rand(len(probs), 1, generator=generator))
