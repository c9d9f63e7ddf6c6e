# exercise: merge_pair
# WRONG: a list of two symbols comes back as it is
def merge_pair(symbols, pair):
    left, right = pair
    if len(symbols) <= 2:
        return list(symbols)
    merged, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right]:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged
