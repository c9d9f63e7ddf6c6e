# exercise: percentile
# WRONG: q taken as a share instead of a percentage
# SAYS: q is taken as a share. It is a percentage: 95 stands for 0.95 of the way.
def percentile(values, q):
    v = sorted(values)
    place = min(q * (len(v) - 1), len(v) - 1)
    i = int(place)
    j = min(i + 1, len(v) - 1)
    return v[i] + (place - i) * (v[j] - v[i])
