# exercise: decode_flops
# WRONG: tokens added instead of multiplied
def decode_flops(n_params, t_new):
    return 2 * (n_params + t_new)
