# exercise: top_k_sample
# WRONG: a generator of its own in each call, seeded with one of 256 numbers
def top_k_sample(logits, k, generator=None):
    own = torch.Generator().manual_seed(int(torch.randint(256, (), generator=generator)))
    return draw(top_k_probs(logits, k), torch.rand(len(logits), 1, generator=own).to(logits.device))
