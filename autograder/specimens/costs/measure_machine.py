# Versions of `measure_machine`. The wrong ones here are edits of right ones in this file.

# %% right_machine_numpy
# RIGHT: numpy's product and sum
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def timed(work):
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        return min(seconds)
    
    import numpy as np
    a, b = np.ones((size, size), np.float32), np.ones((size, size), np.float32)
    memory = np.ones(num_bytes // 4, np.float32)
    matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
    return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)

# %% wrong_machine_numpy_default_bytes, of right_machine_numpy
# WRONG: numpy: an array of 28**2 bytes where no number is given
# - def measure_machine(size=1024, num_bytes=2**28, rounds=5):
# + def measure_machine(size=1024, num_bytes=28**2, rounds=5):

# %% wrong_machine_numpy_default_rounds, of right_machine_numpy
# WRONG: numpy: one round where no number is given
# - def measure_machine(size=1024, num_bytes=2**28, rounds=5):
# + def measure_machine(size=1024, num_bytes=2**28, rounds=1):

# %% wrong_machine_numpy_default_size, of right_machine_numpy
# WRONG: numpy: a size of 2,048 where none is given
# - def measure_machine(size=1024, num_bytes=2**28, rounds=5):
# + def measure_machine(size=2048, num_bytes=2**28, rounds=5):

# %% wrong_machine_numpy_four_times_the_memory, of right_machine_numpy
# WRONG: numpy: an array of num_bytes numbers, four times as many bytes
# -     memory = np.ones(num_bytes // 4, np.float32)
# +     memory = np.ones(num_bytes, np.float32)
