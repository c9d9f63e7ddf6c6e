# exercise: percentile
# RIGHT: numpy's percentile
import numpy as np
def percentile(values, q):
    if not len(values):
        raise ValueError("a percentile of nothing")
    return float(np.percentile(values, q))
