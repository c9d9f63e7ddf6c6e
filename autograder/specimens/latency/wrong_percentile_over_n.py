# exercise: percentile
# WRONG: the place counts n ranks instead of n - 1
# SAYS: The place is q/100 x n. Between n values there are n - 1 steps: q/100 x (n - 1).
def percentile(values, q):
    v = sorted(values)
    place = min(q / 100 * len(v), len(v) - 1)
    i = int(place)
    j = min(i + 1, len(v) - 1)
    return v[i] + (place - i) * (v[j] - v[i])
