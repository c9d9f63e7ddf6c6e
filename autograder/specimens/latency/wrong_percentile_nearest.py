# exercise: percentile
# WRONG: the nearest rank, no interpolation
def percentile(values, q):
    return sorted(values)[round(q / 100 * (len(values) - 1))]
