# exercise: prefill_flops
# WRONG: one FLOP a weight
# SAYS: One FLOP for each weight and token. A weight is multiplied and added: two.
def prefill_flops(n_params, t_prompt):
    return n_params * t_prompt
