# exercise: percentile
# WRONG: always halfway between the neighbours
# SAYS: The value is always halfway between its neighbours. Go as far as the place lies between them.
def percentile(values, q):
    v = sorted(values)
    place = q / 100 * (len(v) - 1)
    i = int(place)
    j = min(i + 1, len(v) - 1)
    return v[i] if place == i else (v[i] + v[j]) / 2
