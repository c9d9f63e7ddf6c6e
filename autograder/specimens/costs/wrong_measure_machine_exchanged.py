# exercise: measure_machine
# WRONG: fields exchanged
# SAYS: The two rates stand in each other's place: peak_flops belongs to the product, bandwidth to the sum.
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def best(work):
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return min(times)
    a, b = torch.randn(size, size), torch.randn(size, size)
    array = torch.ones(num_bytes // 4)
    return Machine(bandwidth=2 * size**3 / best(lambda: a @ b), peak_flops=num_bytes / best(lambda: array.sum()))
