# exercise: percentile
# WRONG: a q outside 0 to 100 is not refused
def percentile(values, q):
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    place = q / 100 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
