# exercise: percentile
# WRONG: the place is rounded up
import math
def percentile(values, q):
    return sorted(values)[math.ceil(q / 100 * (len(values) - 1))]
