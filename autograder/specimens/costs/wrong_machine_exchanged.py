# exercise: measure_machine
# WRONG: the two times exchanged and squared in size
# SAYS: The two rates stand in each other's place, in millions.
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
    return Machine(peak_flops=num_bytes / 1e6 / read, bandwidth=2 * size**3 / 1e6 / matmul)
