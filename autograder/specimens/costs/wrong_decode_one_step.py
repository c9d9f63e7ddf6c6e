# exercise: decode_flops
# WRONG: one step only, twice
# SAYS: The cost does not grow with the steps. Each of the t_new steps costs 2N.
def decode_flops(n_params, t_new):
    return 2 * n_params * min(t_new, 1)
