# exercise: merge_pair
# WRONG: puts the pair in as a tuple instead of one symbol
def merge_pair(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        if symbols[i : i + 2] == list(pair):
            out.append(tuple(pair))
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out
