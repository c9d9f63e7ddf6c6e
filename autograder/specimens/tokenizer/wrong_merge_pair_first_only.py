# exercise: merge_pair
# WRONG: merges only the first occurrence
def merge_pair(symbols, pair):
    for i in range(len(symbols) - 1):
        if (symbols[i], symbols[i + 1]) == tuple(pair):
            return symbols[:i] + [pair[0] + pair[1]] + symbols[i + 2 :]
    return list(symbols)
