# exercise: decode_flops
# WRONG: one FLOP a weight
# SAYS: One FLOP for each weight and token. A weight is multiplied and added: two.
def decode_flops(n_params, t_new):
    return n_params * t_new
