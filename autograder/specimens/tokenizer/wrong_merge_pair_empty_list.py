# exercise: merge_pair
# WRONG: fails on the empty list
def merge_pair(symbols, pair):
    out = [symbols[0]]
    used = False
    for s in symbols[1:]:
        if not used and out[-1] == pair[0] and s == pair[1]:
            out[-1] += s
            used = True
        else:
            out.append(s)
            used = False
    return out
