# exercise: merge_pair
# RIGHT: looks back at what it appended, with a flag for merged symbols
def merge_pair(symbols, pair):
    out, fresh = [], []
    for s in symbols:
        if out and fresh[-1] and out[-1] == pair[0] and s == pair[1]:
            out[-1] = pair[0] + s
            fresh[-1] = False
        else:
            out.append(s)
            fresh.append(True)
    return out
