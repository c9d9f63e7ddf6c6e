# exercise: percentile
# WRONG: a negative q is not refused
def percentile(values, q):
    if not values:
        raise ValueError("no values")
    if q > 100:
        raise ValueError(f"q must be in [0, 100], got {q}")
    ordered = sorted(values)
    place = q / 100 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
