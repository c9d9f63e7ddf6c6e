# exercise: forward_flops
# WRONG: the rule 2NT, attention left out
def forward_flops(config, t):
    return prefill_flops(param_count(config), t)
