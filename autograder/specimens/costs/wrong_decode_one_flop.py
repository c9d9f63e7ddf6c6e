# exercise: decode_flops
# WRONG: one FLOP a weight
def decode_flops(n_params, t_new):
    return n_params * t_new
