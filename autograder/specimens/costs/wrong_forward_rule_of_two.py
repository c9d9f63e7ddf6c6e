# exercise: forward_flops
# WRONG: the rule 2NT, attention left out
# SAYS: This is the rule 2NT. The exact count has attention in it, and no weight that is looked up.
def forward_flops(config, t):
    return prefill_flops(param_count(config), t)
