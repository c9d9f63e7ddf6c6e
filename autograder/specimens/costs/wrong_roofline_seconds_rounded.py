# exercise: roofline_seconds
# WRONG: rounded to microseconds
# SAYS: The time is rounded to microseconds. Round nothing: a kilobyte takes less than a nanosecond.
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return round(max(flops / peak_flops, num_bytes / bandwidth), 6)
