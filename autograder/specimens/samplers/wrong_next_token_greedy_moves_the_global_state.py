# exercise: sample_next_token
# WRONG: at temperature 0 it draws a number from the global state and throws it away when no generator is given

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if generator is None or temperature > 0:
        u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    if temperature == 0:
        return greedy_sample(probs)
    return draw(probs, u)
