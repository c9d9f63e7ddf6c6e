# exercise: decode_flops
# WRONG: the first new token is not counted, because the prefill gives it
# SAYS: One step is left out. t_new is the number of decode steps here, each over one token.
def decode_flops(n_params, t_new):
    return 2 * n_params * max(t_new - 1, 0)
