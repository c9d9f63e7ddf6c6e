# exercise: percentile
# WRONG: a q of nan is not refused
def percentile(values, q):
    if not values:
        raise ValueError("no values")
    if q < 0 or q > 100:
        raise ValueError(f"q must be in [0, 100], got {q}")
    ordered = sorted(values)
    place = q / 100 * (len(ordered) - 1)
    low = int(place) if place == place else 0
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
