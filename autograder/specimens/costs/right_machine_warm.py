# exercise: measure_machine
# RIGHT: a warm-up round first, and out= so that nothing is allocated
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def timed(work):
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        return min(seconds)
    
    a, b, c = torch.randn(size, size), torch.randn(size, size), torch.empty(size, size)
    memory = torch.ones(num_bytes // 4)
    torch.mm(a, b, out=c)
    memory.sum()
    matmul, read = timed(lambda: torch.mm(a, b, out=c)), timed(lambda: memory.sum())
    return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
