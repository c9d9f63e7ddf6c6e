# exercise: merge_pair
# WRONG: merges in the list that was given
def merge_pair(symbols, pair):
    i = 0
    while i + 1 < len(symbols):
        if (symbols[i], symbols[i + 1]) == tuple(pair):
            symbols[i : i + 2] = [pair[0] + pair[1]]
        i += 1
    return symbols
