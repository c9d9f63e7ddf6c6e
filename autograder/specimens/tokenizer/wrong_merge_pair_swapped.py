# exercise: merge_pair
# WRONG: joins the two symbols in the wrong order
def merge_pair(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        if symbols[i : i + 2] == list(pair):
            out.append(pair[1] + pair[0])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out
