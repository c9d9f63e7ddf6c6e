# exercise: percentile
# WRONG: q taken as a share instead of a percentage
def percentile(values, q):
    v = sorted(values)
    place = min(q * (len(v) - 1), len(v) - 1)
    i = int(place)
    j = min(i + 1, len(v) - 1)
    return v[i] + (place - i) * (v[j] - v[i])
