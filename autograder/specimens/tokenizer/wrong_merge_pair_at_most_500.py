# exercise: merge_pair
# WRONG: looks at the first 500 symbols only
def merge_pair(symbols, pair):
    left, right = pair
    symbols = symbols[:500]
    merged, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right]:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged
