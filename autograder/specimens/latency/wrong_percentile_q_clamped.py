# exercise: percentile
# WRONG: a q outside 0 to 100 is taken for the nearest end, where a ValueError is due
def percentile(values, q):
    if not values:
        raise ValueError("no values")
    q = min(max(q, 0), 100)
    ordered = sorted(values)
    place = q / 100 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
