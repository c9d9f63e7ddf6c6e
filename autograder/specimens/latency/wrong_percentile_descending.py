# exercise: percentile
# WRONG: sorted from the largest
def percentile(values, q):
    v = sorted(values, reverse=True)
    place = q / 100 * (len(v) - 1)
    i = int(place)
    j = min(i + 1, len(v) - 1)
    return v[i] + (place - i) * (v[j] - v[i])
