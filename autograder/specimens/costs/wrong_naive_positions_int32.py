# exercise: naive_positions
# WRONG: int32 sum overflows
# SAYS: The sum is taken in 32 bits, which hold 2,147,483,647 at the most.
import numpy as np
def naive_positions(t0, g):
    return int(np.arange(t0, t0 + g, dtype=np.int32).sum(dtype=np.int32))
