# exercise: percentile
# WRONG: the place is rounded down
def percentile(values, q):
    return sorted(values)[int(q / 100 * (len(values) - 1))]
