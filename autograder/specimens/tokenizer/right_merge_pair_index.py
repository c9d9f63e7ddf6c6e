# exercise: merge_pair
# RIGHT: looks for the left symbol with list.index, as GPT-2 did
def merge_pair(symbols, pair):
    left, right = pair
    out = []
    i = 0
    while True:
        try:
            j = symbols.index(left, i)
        except ValueError:
            out.extend(symbols[i:])
            return out
        out.extend(symbols[i:j])
        if j + 1 < len(symbols) and symbols[j + 1] == right:
            out.append(left + right)
            i = j + 2
        else:
            out.append(left)
            i = j + 1
