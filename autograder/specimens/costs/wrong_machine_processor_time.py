# exercise: measure_machine
# WRONG: process_time: the seconds of all processors added up, not those of the clock on the wall
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def timed(work):
        seconds = []
        for _ in range(rounds):
            start = time.process_time()
            work()
            seconds.append(time.process_time() - start)
        return min(seconds)

    a, b = torch.randn(size, size), torch.randn(size, size)
    memory = torch.ones(num_bytes // 4)
    matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
    return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
