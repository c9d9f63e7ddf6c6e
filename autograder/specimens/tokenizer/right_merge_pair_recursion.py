# exercise: merge_pair
# RIGHT: recursion on the rest of the list
def merge_pair(symbols, pair):
    if len(symbols) < 2:
        return list(symbols)
    if symbols[0] == pair[0] and symbols[1] == pair[1]:
        return [pair[0] + pair[1]] + merge_pair(symbols[2:], pair)
    return [symbols[0]] + merge_pair(symbols[1:], pair)
