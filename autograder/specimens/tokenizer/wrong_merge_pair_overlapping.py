# exercise: merge_pair
# WRONG: uses a symbol in two merges: aaa becomes aa aa
def merge_pair(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == tuple(pair):
            out.append(pair[0] + pair[1])
            i += 1
            if i + 1 == len(symbols):
                break
        else:
            out.append(symbols[i])
            i += 1
    return out
