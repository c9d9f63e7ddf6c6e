# exercise: percentile
# WRONG: sorts the caller's list
def percentile(values, q):
    values.sort()
    place = q / 100 * (len(values) - 1)
    i = int(place)
    j = min(i + 1, len(values) - 1)
    return values[i] + (place - i) * (values[j] - values[i])
