# exercise: naive_positions
# WRONG: nothing comes back where no token is generated
def naive_positions(t0, g):
    if g:
        return g * t0 + g * (g - 1) // 2
