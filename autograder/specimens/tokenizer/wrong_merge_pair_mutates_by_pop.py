# exercise: merge_pair
# WRONG: right result, but the list that was given is emptied
def merge_pair(symbols, pair):
    out = []
    while symbols:
        s = symbols.pop(0)
        if symbols and s == pair[0] and symbols[0] == pair[1]:
            out.append(s + symbols.pop(0))
        else:
            out.append(s)
    return out
