# exercise: record
# WRONG: reads the machine's clock instead of the one given
import time
def record(stream, clock):
    arrival = time.perf_counter()
    return Trace(arrival, [time.perf_counter() for _ in stream])
