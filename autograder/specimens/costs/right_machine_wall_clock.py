# exercise: measure_machine
# RIGHT: time.time, and the two kinds of work in turns
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    a, b = torch.rand(size, size), torch.rand(size, size)
    memory = torch.rand(num_bytes // 4)
    products, sums = [], []
    for _ in range(rounds):
        began = time.time()
        torch.matmul(a, b)
        between = time.time()
        memory.sum()
        products.append(between - began)
        sums.append(time.time() - between)
    return Machine(2 * size**3 / min(products), num_bytes / min(sums))
