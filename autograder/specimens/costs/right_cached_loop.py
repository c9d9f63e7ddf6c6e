# exercise: cached_positions
# RIGHT: step by step
def cached_positions(t0, g):
    total = 0
    for step in range(g):
        total += t0 if step == 0 else 1
    return total
