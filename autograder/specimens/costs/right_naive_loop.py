# exercise: naive_positions
# RIGHT: a loop
def naive_positions(t0, g):
    total = 0
    for step in range(g):
        total += t0 + step
    return total
