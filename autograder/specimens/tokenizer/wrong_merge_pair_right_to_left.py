# exercise: merge_pair
# WRONG: goes from right to left: aaa becomes a aa
def merge_pair(symbols, pair):
    out = []
    i = len(symbols) - 1
    while i >= 0:
        if i > 0 and (symbols[i - 1], symbols[i]) == tuple(pair):
            out.append(pair[0] + pair[1])
            i -= 2
        else:
            out.append(symbols[i])
            i -= 1
    return out[::-1]
