# exercise: percentile
# WRONG: the mean for the median
def percentile(values, q):
    return sum(values) / len(values)
