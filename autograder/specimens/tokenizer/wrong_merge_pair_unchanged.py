# exercise: merge_pair
# WRONG: returns a copy without merging
def merge_pair(symbols, pair):
    return list(symbols)
