# exercise: measure_machine
# WRONG: size 1024 always for the product
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def best(work):
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return min(times)
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    array = torch.ones(num_bytes // 4)
    return Machine(peak_flops=2 * size**3 / best(lambda: a @ b), bandwidth=num_bytes / best(lambda: array.sum()))
