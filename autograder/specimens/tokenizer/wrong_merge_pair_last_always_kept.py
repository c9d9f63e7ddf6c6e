# exercise: merge_pair
# WRONG: appends the last symbol even when it was merged
def merge_pair(symbols, pair):
    out = []
    i = 0
    while i < len(symbols) - 1:
        if (symbols[i], symbols[i + 1]) == tuple(pair):
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out + symbols[-1:]
