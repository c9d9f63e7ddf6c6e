# exercise: percentile
# RIGHT: divmod and a weighted mean
def percentile(values, q):
    if not values or q < 0 or q > 100 or q != q:
        raise ValueError(f"percentile {q} of {len(values)} values")
    v = sorted(values)
    place, share = divmod((len(v) - 1) * q / 100, 1)
    i = int(place)
    return v[i] if i == len(v) - 1 else v[i] * (1 - share) + v[i + 1] * share
