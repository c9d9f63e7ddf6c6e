# exercise: measure_machine
# RIGHT: the timeit module
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    import timeit
    a, b = torch.rand(size, size), torch.rand(size, size)
    memory = torch.zeros(num_bytes, dtype=torch.uint8).view(torch.float32)
    product = min(timeit.repeat(lambda: a.mm(b), number=1, repeat=rounds))
    reading = min(timeit.repeat(lambda: memory.sum(), number=1, repeat=rounds))
    return Machine(2 * size**3 / product, num_bytes / reading)
