# exercise: merge_pair
# WRONG: compares the joined texts, so (a, bc) counts as (ab, c)
def merge_pair(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        if i + 1 < len(symbols) and symbols[i] + symbols[i + 1] == pair[0] + pair[1]:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out
