# exercise: merge_pair
# RIGHT: walks an iterator and remembers the symbol before
def merge_pair(symbols, pair):
    merged = []
    waiting = None
    for symbol in symbols:
        if waiting is None:
            waiting = symbol
        elif (waiting, symbol) == tuple(pair):
            merged.append(waiting + symbol)
            waiting = None
        else:
            merged.append(waiting)
            waiting = symbol
    if waiting is not None:
        merged.append(waiting)
    return merged
