# exercise: decode_flops
# WRONG: six FLOPs a weight, which is training
# SAYS: Six FLOPs a weight is the rule for training, backward pass included. A pass forward takes two.
def decode_flops(n_params, t_new):
    return 6 * n_params * t_new
