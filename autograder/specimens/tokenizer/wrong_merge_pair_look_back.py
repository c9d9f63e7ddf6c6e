# exercise: merge_pair
# WRONG: a symbol that is merged already is merged again with the next: a a aa
def merge_pair(symbols, pair):
    out = []
    for s in symbols:
        if out and out[-1] == pair[0] and s == pair[1]:
            out[-1] = out[-1] + s
        elif out and out[-1] == pair[0] + pair[1] and s == pair[1]:
            out[-1] = out[-1] + s
        else:
            out.append(s)
    return out
