# exercise: merge_pair
# WRONG: compares symbols without their case
def merge_pair(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    left, right = pair
    merged: list[str] = []
    i = 0
    while i < len(symbols):
        if [s.lower() for s in symbols[i : i + 2]] == [left.lower(), right.lower()]:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged
