# exercise: sample_next_token
# WRONG: draws from the generator in its first call only, then from the global state

seen = [None]


def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(probs)
    if generator in seen:
        generator = None
    else:
        seen.append(generator)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))
