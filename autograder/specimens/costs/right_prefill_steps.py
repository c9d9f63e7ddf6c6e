# exercise: prefill_flops
# RIGHT: one token at a time, in one sum
def prefill_flops(n_params, t_prompt):
    return 2 * sum([n_params] * t_prompt) if t_prompt < 10**4 else 2 * n_params * t_prompt
