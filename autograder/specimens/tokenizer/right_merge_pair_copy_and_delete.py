# exercise: merge_pair
# RIGHT: copies the list and deletes from the copy
def merge_pair(symbols, pair):
    result = list(symbols)
    i = 0
    while i + 1 < len(result):
        if result[i] == pair[0] and result[i + 1] == pair[1]:
            result[i : i + 2] = ["".join(pair)]
        i += 1
    return result
