# exercise: percentile
# WRONG: the values are not sorted
def percentile(values, q):
    place = q / 100 * (len(values) - 1)
    i = int(place)
    j = min(i + 1, len(values) - 1)
    return values[i] + (place - i) * (values[j] - values[i])
