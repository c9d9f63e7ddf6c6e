# exercise: prefill_flops
# WRONG: tokens added instead of multiplied
def prefill_flops(n_params, t_prompt):
    return 2 * (n_params + t_prompt)
