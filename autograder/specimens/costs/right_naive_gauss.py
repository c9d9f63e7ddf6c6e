# exercise: naive_positions
# RIGHT: first plus last
def naive_positions(t0, g):
    return g * (2 * t0 + g - 1) // 2
