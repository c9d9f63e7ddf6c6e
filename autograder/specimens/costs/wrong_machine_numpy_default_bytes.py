# exercise: measure_machine
# WRONG: numpy: an array of 28**2 bytes where no number is given
def measure_machine(size=1024, num_bytes=28**2, rounds=5):
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
