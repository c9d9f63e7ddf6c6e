# exercise: percentile
# WRONG: always halfway between the neighbours
def percentile(values, q):
    v = sorted(values)
    place = q / 100 * (len(v) - 1)
    i = int(place)
    j = min(i + 1, len(v) - 1)
    return v[i] if place == i else (v[i] + v[j]) / 2
