# exercise: measure_machine
# RIGHT: the mean of the array for its sum, and one list for both kinds of work
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    matrix = torch.randn(size, size)
    array = torch.linspace(0.0, 1.0, num_bytes // torch.float32.itemsize)
    shortest = {}
    for name, work in (("product", lambda: matrix @ matrix), ("reading", lambda: array.mean())):
        work()
        for _ in range(rounds):
            start = time.monotonic()
            work()
            shortest[name] = min(shortest.get(name, float("inf")), time.monotonic() - start)
    return Machine(peak_flops=2.0 * size**3 / shortest["product"], bandwidth=array.nbytes / shortest["reading"])
