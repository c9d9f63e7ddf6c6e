# exercise: merge_pair
# WRONG: merges the pair in either order
def merge_pair(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        if i + 1 < len(symbols) and {symbols[i], symbols[i + 1]} == set(pair) and (pair[0] != pair[1] or symbols[i] == symbols[i + 1]):
            out.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out
