# exercise: percentile
# RIGHT: numpy's percentile
import numpy as np
def percentile(values, q):
    return float(np.percentile(values, q))
