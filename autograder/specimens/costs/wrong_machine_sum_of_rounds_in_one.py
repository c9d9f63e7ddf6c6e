# exercise: measure_machine
# WRONG: all rounds in one stretch of time, divided by their number: a mean
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def timed(work):
        start = time.perf_counter()
        for _ in range(rounds):
            work()
        return (time.perf_counter() - start) / rounds

    a, b = torch.randn(size, size), torch.randn(size, size)
    memory = torch.ones(num_bytes // 4)
    matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
    return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
