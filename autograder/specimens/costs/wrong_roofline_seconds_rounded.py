# exercise: roofline_seconds
# WRONG: rounded to microseconds
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return round(max(flops / peak_flops, num_bytes / bandwidth), 6)
