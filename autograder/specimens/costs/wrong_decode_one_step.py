# exercise: decode_flops
# WRONG: one step only, twice
def decode_flops(n_params, t_new):
    return 2 * n_params * min(t_new, 1)
