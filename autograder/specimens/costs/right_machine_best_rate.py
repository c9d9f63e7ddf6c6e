# exercise: measure_machine
# RIGHT: the best rate instead of the shortest time, by a clock of its own name
from time import perf_counter as now


def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    a, b = torch.ones(size, size), torch.ones(size, size)
    memory = torch.full((num_bytes // 4,), 0.5)
    peak = bandwidth = 0.0
    for _ in range(rounds):
        start = now()
        a.mm(b)
        peak = max(peak, 2 * size * size * size / (now() - start))
    for _ in range(rounds):
        start = now()
        torch.sum(memory)
        bandwidth = max(bandwidth, 4 * len(memory) / (now() - start))
    return Machine(peak_flops=peak, bandwidth=bandwidth)
