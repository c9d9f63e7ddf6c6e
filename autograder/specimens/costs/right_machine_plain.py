# exercise: measure_machine
# RIGHT: step by step; most of the wrong versions are edits of it
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def timed(work):
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    a, b = torch.randn(size, size), torch.randn(size, size)
    memory = torch.ones(num_bytes // 4)
    matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
    return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
