# exercise: merge_pair
# WRONG: a list that is just the pair is changed in place
def merge_pair(symbols, pair):
    left, right = pair
    if symbols == [left, right]:
        symbols[:] = [left + right]
        return symbols
    merged, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right]:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged
