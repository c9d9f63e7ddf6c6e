# exercise: merge_pair
# WRONG: steps on by one after a merge and repeats the right symbol
def merge_pair(symbols, pair):
    out = []
    for i in range(len(symbols)):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == tuple(pair):
            out.append(pair[0] + pair[1])
        else:
            out.append(symbols[i])
    return out
