# exercise: merge_pair
# WRONG: looks past the end of the list
def merge_pair(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        if symbols[i] == pair[0] and symbols[i + 1] == pair[1]:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out
