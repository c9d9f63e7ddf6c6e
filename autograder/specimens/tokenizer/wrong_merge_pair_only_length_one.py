# exercise: merge_pair
# WRONG: joins only symbols of one character
def merge_pair(symbols, pair):
    if len(pair[0]) > 1 or len(pair[1]) > 1:
        return list(symbols)
    out, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == list(pair):
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out
