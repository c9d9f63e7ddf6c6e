# exercise: merge_pair
# WRONG: steps on by two also where nothing was merged
def merge_pair(symbols, pair):
    out = []
    for i in range(0, len(symbols), 2):
        if symbols[i : i + 2] == list(pair):
            out.append(pair[0] + pair[1])
        else:
            out.extend(symbols[i : i + 2])
    return out
