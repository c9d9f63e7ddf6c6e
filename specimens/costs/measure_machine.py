# Versions of measure_machine, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_machine_plain
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


# %% right_machine_matrix_times_vector
# RIGHT: bandwidth by a matrix times a vector
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def timed(work):
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        return min(seconds)
    
    a, b = torch.randn(size, size), torch.randn(size, size)
    memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
    matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
    return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)


# %% right_machine_numpy
# RIGHT: numpy's product and sum
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def timed(work):
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        return min(seconds)
    
    import numpy as np
    a, b = np.ones((size, size), np.float32), np.ones((size, size), np.float32)
    memory = np.ones(num_bytes // 4, np.float32)
    matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
    return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)


# %% right_machine_nanoseconds
# RIGHT: whole nanoseconds
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def timed(work):
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter_ns()
            work()
            seconds.append(time.perf_counter_ns() - start)
        return min(seconds)
    
    a, b = torch.randn(size, size), torch.randn(size, size)
    memory = torch.ones(num_bytes // 4)
    matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
    return Machine(peak_flops=2 * size**3 / matmul * 1e9, bandwidth=num_bytes / read * 1e9)


# %% right_machine_best_rate
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


# %% right_machine_mean_of_the_array
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


# %% right_machine_timeit
# RIGHT: the timeit module
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    import timeit
    a, b = torch.rand(size, size), torch.rand(size, size)
    memory = torch.zeros(num_bytes, dtype=torch.uint8).view(torch.float32)
    product = min(timeit.repeat(lambda: a.mm(b), number=1, repeat=rounds))
    reading = min(timeit.repeat(lambda: memory.sum(), number=1, repeat=rounds))
    return Machine(2 * size**3 / product, num_bytes / reading)


# %% right_machine_wall_clock
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


# %% right_machine_warm
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


# %% right_machine_torch_and_numpy, of right_machine_plain
# RIGHT: a product of torch's and a sum of numpy's
# -     memory = torch.ones(num_bytes // 4)
# +     import numpy as np
# +     memory = np.ones(num_bytes // 4, np.float32)


# %% wrong_machine_datasheet
# WRONG: an H100's datasheet
# SAYS: These are the figures of an H100's datasheet. Measure this machine.
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    return Machine(peak_flops=989e12, bandwidth=3.35e12)


# %% wrong_machine_one_flop_a_second
# WRONG: constants
# SAYS: These are constants. Measure this machine.
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    return Machine(1.0, 1.0)


# %% wrong_machine_sum_of_rounds_in_one
# WRONG: all rounds in one stretch of time, divided by their number: a mean
def measure_machine(size=1024, num_bytes=2**28, rounds=5):
    def timed(work):
        start = time.perf_counter()
        for _ in range(rounds):
            work()
        return (time.perf_counter() - start) / rounds

    a, b = torch.randn(size, size), torch.randn(size, size)
    memory = torch.ones(num_bytes // 4)
    matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
    return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)


# %% wrong_measure_machine_another_size
# WRONG: measures products of 1000 x 1000 where no size is said
reference_measure_machine = measure_machine

def measure_machine(size=1000, num_bytes=2**28, rounds=5):
    return reference_measure_machine(size, num_bytes, rounds)


# %% wrong_measure_machine_exchanged
# WRONG: fields exchanged
# SAYS: The two rates are exchanged: peak_flops belongs to the product, bandwidth to the sum.
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


# %% wrong_measure_machine_fixed_size
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


# %% wrong_measure_machine_no_size
# WRONG: measures products of 0 x 0 where no size is said
reference_measure_machine = measure_machine

def measure_machine(size=0, num_bytes=2**28, rounds=5):
    return reference_measure_machine(size, num_bytes, rounds)

# %% wrong_machine_default_bytes, of right_machine_plain
# WRONG: num_bytes is 2**26 where none is given
# - def measure_machine(size=1024, num_bytes=2**28, rounds=5):
# + def measure_machine(size=1024, num_bytes=2**26, rounds=5):

# %% wrong_machine_default_rounds, of right_machine_plain
# WRONG: three rounds where no number is given
# - def measure_machine(size=1024, num_bytes=2**28, rounds=5):
# + def measure_machine(size=1024, num_bytes=2**28, rounds=3):

# %% wrong_machine_default_size, of right_machine_plain
# WRONG: size is 512 where none is given
# - def measure_machine(size=1024, num_bytes=2**28, rounds=5):
# + def measure_machine(size=512, num_bytes=2**28, rounds=5):

# %% wrong_machine_minimum_of_three, of right_machine_plain
# WRONG: at least three rounds, whatever `rounds` says
# -         for _ in range(rounds):
# +         for _ in range(max(rounds, 3)):

# %% wrong_machine_one_round, of right_machine_plain
# WRONG: one round, whatever `rounds` says
# -         for _ in range(rounds):
# +         for _ in range(1):

# %% wrong_machine_processor_time, of right_machine_plain
# WRONG: process_time: the seconds of all processors added up, not those of the clock on the wall
# -             start = time.perf_counter()
# +             start = time.process_time()
#               work()
# -             seconds.append(time.perf_counter() - start)
# +             seconds.append(time.process_time() - start)

# %% wrong_machine_first_round, of right_machine_plain
# WRONG: the first round alone, whatever `rounds` says
# -         return min(seconds)
# +         return seconds[0]

# %% wrong_machine_last_round, of right_machine_plain
# WRONG: the last round alone, instead of the shortest
# -         return min(seconds)
# +         return seconds[-1]

# %% wrong_machine_longest, of right_machine_plain
# WRONG: the longest round instead of the shortest
# -         return min(seconds)
# +         return max(seconds)

# %% wrong_machine_mean, of right_machine_plain
# WRONG: the mean of the rounds instead of the shortest
# -         return min(seconds)
# +         return sum(seconds) / len(seconds)

# %% wrong_machine_median, of right_machine_plain
# WRONG: the median of the rounds instead of the shortest
# -         return min(seconds)
# +         return sorted(seconds)[len(seconds) // 2]

# %% wrong_machine_bfloat16, of right_machine_plain
# WRONG: products in bfloat16, where float32 is asked for
# -     a, b = torch.randn(size, size), torch.randn(size, size)
# +     a, b = torch.randn(size, size).bfloat16(), torch.randn(size, size).bfloat16()

# %% wrong_machine_float64, of right_machine_plain
# WRONG: products in float64, at half the speed of float32
# -     a, b = torch.randn(size, size), torch.randn(size, size)
# +     a, b = torch.randn(size, size, dtype=torch.float64), torch.randn(size, size, dtype=torch.float64)

# %% wrong_machine_vector_product, of right_machine_plain
# WRONG: a matrix times a vector, counted as a product of two matrices
# -     a, b = torch.randn(size, size), torch.randn(size, size)
# +     a, b = torch.randn(size, size), torch.randn(size)

# %% wrong_machine_half_floats, of right_machine_plain
# WRONG: a sum over 16-bit numbers, which waits for the conversion and not for memory
# -     memory = torch.ones(num_bytes // 4)
# +     memory = torch.ones(num_bytes // 2, dtype=torch.float16)

# %% wrong_machine_half_the_array, of right_machine_plain
# WRONG: an array of num_bytes // 8 numbers of 4 bytes: half of the bytes that the rate counts
# -     memory = torch.ones(num_bytes // 4)
# +     memory = torch.ones(num_bytes // 8)

# %% wrong_machine_numbers_for_bytes, of right_machine_plain
# WRONG: an array of num_bytes numbers: four times the bytes that the rate counts
# -     memory = torch.ones(num_bytes // 4)
# +     memory = torch.ones(num_bytes)

# %% wrong_machine_array_in_the_clock, of right_machine_plain
# WRONG: the array is made while the clock runs
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     matmul, read = timed(lambda: a @ b), timed(lambda: torch.ones(num_bytes // 4).sum())

# %% wrong_machine_both_in_one, of right_machine_plain
# WRONG: one time for both pieces of work together
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     matmul = read = timed(lambda: (a @ b, memory.sum()))

# %% wrong_machine_copy_counted_once, of right_machine_plain
# WRONG: a copy, which reads and writes, counted as a reading
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.clone())

# %% wrong_machine_elementwise_product, of right_machine_plain
# WRONG: `*`, which multiplies entry by entry, counted as a matrix product
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     matmul, read = timed(lambda: a * b), timed(lambda: memory.sum())

# %% wrong_machine_matrices_in_the_clock, of right_machine_plain
# WRONG: the matrices are made while the clock runs
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     matmul, read = timed(lambda: torch.randn(size, size) @ torch.randn(size, size)), timed(lambda: memory.sum())

# %% wrong_machine_one_matrix_in_the_clock, of right_machine_plain
# WRONG: one of the matrices is made while the clock runs
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     matmul, read = timed(lambda: a @ torch.randn(size, size)), timed(lambda: memory.sum())

# %% wrong_machine_part_of_the_array, of right_machine_plain
# WRONG: a sum over half of the array
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory[: len(memory) // 2].sum())

# %% wrong_machine_two_products, of right_machine_plain
# WRONG: two products in a round, of which the rate counts one
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     matmul, read = timed(lambda: a @ b @ b), timed(lambda: memory.sum())

# %% wrong_machine_two_sums, of right_machine_plain
# WRONG: the array is read twice in a round, and counted once
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum() + memory.max())

# %% wrong_machine_four_flops, of right_machine_plain
# WRONG: four FLOPs for a multiplication and an addition: twice the peak
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     return Machine(peak_flops=4 * size**3 / matmul, bandwidth=num_bytes / read)

# %% wrong_machine_gibi_flops, of right_machine_plain
# WRONG: FLOPs in units of 2**30 brought back with 10**9
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     return Machine(peak_flops=2 * size**3 / 2**30 * 1e9 / matmul, bandwidth=num_bytes / read)

# %% wrong_machine_one_flop, of right_machine_plain
# WRONG: one FLOP for a multiplication and an addition: half of the peak
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     return Machine(peak_flops=size**3 / matmul, bandwidth=num_bytes / read)

# %% wrong_machine_all_rounds, of right_machine_matrix_times_vector
# WRONG: one round's work over the time of all rounds
# -         return min(seconds)
# +         return sum(seconds)
# ...
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())

# %% wrong_machine_milliseconds, of right_machine_matrix_times_vector
# WRONG: rates a millisecond
# SAYS: The rates are for a millisecond. Give them for a second.
# -         return min(seconds)
# +         return 1000 * min(seconds)
# ...
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())

# %% wrong_machine_negative, of right_machine_matrix_times_vector
# WRONG: end and start exchanged
# SAYS: Start and end are exchanged, so the time is negative: end less start.
# -         return min(seconds)
# +         return -min(seconds)
# ...
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())

# %% wrong_machine_a_tuple, of right_machine_matrix_times_vector
# WRONG: two bare numbers
# SAYS: Two bare numbers come back. Return Machine(peak_flops=..., bandwidth=...).
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return 2 * size**3 / matmul, num_bytes / read

# %% wrong_machine_bandwidth_missing, of right_machine_matrix_times_vector
# WRONG: no bandwidth
# SAYS: The bandwidth is 0: it is not measured.
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=0.0)

# %% wrong_machine_bits_a_thousand, of right_machine_matrix_times_vector
# WRONG: kilobits
# SAYS: The bandwidth is in bits and 1,024. Give bytes/s.
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=8 * 1024 * num_bytes / read)

# %% wrong_machine_exchanged, of right_machine_matrix_times_vector
# WRONG: the two times exchanged and squared in size
# SAYS: The two rates are exchanged, in millions.
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=num_bytes / 1e6 / read, bandwidth=2 * size**3 / 1e6 / matmul)

# %% wrong_machine_gibibytes, of right_machine_matrix_times_vector
# WRONG: GiB/s
# SAYS: The bandwidth is in GiB/s. Give bytes/s.
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read / 2**30)

# %% wrong_machine_gigabytes, of right_machine_matrix_times_vector
# WRONG: GB/s
# SAYS: The bandwidth is in GB/s. Give bytes/s.
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read / 1e9)

# %% wrong_machine_gigaflops, of right_machine_matrix_times_vector
# WRONG: GFLOP/s
# SAYS: The peak is in GFLOP/s. Give FLOP/s.
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=2 * size**3 / matmul / 1e9, bandwidth=num_bytes / read)

# %% wrong_machine_infinite, of right_machine_matrix_times_vector
# WRONG: no time at all
# SAYS: The peak is infinite: no time was measured for the product.
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=float('inf'), bandwidth=num_bytes / read)

# %% wrong_machine_inverted, of right_machine_matrix_times_vector
# WRONG: seconds a FLOP and a byte
# SAYS: These are seconds per FLOP and per byte: invert the fractions.
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=matmul / (2 * size**3), bandwidth=read / num_bytes)

# %% wrong_machine_nothing_timed, of right_machine_matrix_times_vector
# WRONG: the clock read without the work
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: None), timed(lambda: None)

# %% wrong_machine_seconds, of right_machine_matrix_times_vector
# WRONG: the seconds instead of the rates
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=matmul, bandwidth=read)

# %% wrong_machine_square, of right_machine_matrix_times_vector
# WRONG: a product of matrices counted as size squared
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=2 * size**2 / matmul, bandwidth=num_bytes / read)

# %% wrong_machine_tera, of right_machine_matrix_times_vector
# WRONG: TFLOP/s and TB/s
# SAYS: The rates are in TFLOP/s and TB/s. Give FLOP/s and bytes/s.
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=2 * size**3 / matmul / 1e12, bandwidth=num_bytes / read / 1e12)

# %% wrong_machine_to_the_fourth, of right_machine_matrix_times_vector
# WRONG: size to the fourth power
# -     memory, v = torch.ones(num_bytes // 4 // 256, 256), torch.ones(256)
# -     matmul, read = timed(lambda: a @ b), timed(lambda: memory @ v)
# -     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)
# +     memory = torch.ones(num_bytes // 4)
# +     matmul, read = timed(lambda: a @ b), timed(lambda: memory.sum())
# +     return Machine(peak_flops=2 * size**4 * 30 / matmul, bandwidth=num_bytes / read)

# %% wrong_machine_numpy_default_bytes, of right_machine_numpy
# WRONG: numpy: an array of 28**2 bytes where no number is given
# - def measure_machine(size=1024, num_bytes=2**28, rounds=5):
# + def measure_machine(size=1024, num_bytes=28**2, rounds=5):

# %% wrong_machine_numpy_default_rounds, of right_machine_numpy
# WRONG: numpy: one round where no number is given
# - def measure_machine(size=1024, num_bytes=2**28, rounds=5):
# + def measure_machine(size=1024, num_bytes=2**28, rounds=1):

# %% wrong_machine_numpy_default_size, of right_machine_numpy
# WRONG: numpy: a size of 2,048 where none is given
# - def measure_machine(size=1024, num_bytes=2**28, rounds=5):
# + def measure_machine(size=2048, num_bytes=2**28, rounds=5):

# %% wrong_machine_numpy_four_times_the_memory, of right_machine_numpy
# WRONG: numpy: an array of num_bytes numbers, four times as many bytes
# -     memory = np.ones(num_bytes // 4, np.float32)
# +     memory = np.ones(num_bytes, np.float32)

# %% wrong_machine_nanoseconds_as_seconds, of right_machine_nanoseconds
# WRONG: nanoseconds taken for seconds
# -     return Machine(peak_flops=2 * size**3 / matmul * 1e9, bandwidth=num_bytes / read * 1e9)
# +     return Machine(peak_flops=2 * size**3 / matmul, bandwidth=num_bytes / read)


# %% wrong_machine_first_result_kept, of right_machine_plain
# WRONG: the first result for some arguments is returned again, without a measurement
# SAYS: The rates come from an earlier call with the same arguments. Measure again in each call.
# - def measure_machine(size=1024, num_bytes=2**28, rounds=5):
# + import functools
# +
# + @functools.cache
# + def measure_machine(size=1024, num_bytes=2**28, rounds=5):
