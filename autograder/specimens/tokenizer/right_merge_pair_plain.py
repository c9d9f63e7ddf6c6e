# exercise: merge_pair
# RIGHT: step by step; most of the wrong versions are edits of it
def merge_pair(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        if symbols[i : i + 2] == list(pair):
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out
