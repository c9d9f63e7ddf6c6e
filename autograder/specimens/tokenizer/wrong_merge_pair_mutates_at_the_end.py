# exercise: merge_pair
# WRONG: a pair at the end of the list is merged in the list that was given
def merge_pair(symbols, pair):
    left, right = pair
    if symbols[-2:] == [left, right] and (left, right) not in zip(symbols[:-2], symbols[1:-1]) and left != right:
        symbols[-2:] = [left + right]
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
