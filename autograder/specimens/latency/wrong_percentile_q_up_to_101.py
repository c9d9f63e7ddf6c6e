# exercise: percentile
# WRONG: 101 is taken for a percentile
def percentile(values, q):
    if not values:
        raise ValueError("no values")
    if not 0 <= q <= 101:
        raise ValueError(f"q must be in [0, 100], got {q}")
    ordered = sorted(values)
    place = q / 100 * (len(ordered) - 1)
    low = min(int(place), len(ordered) - 1)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
