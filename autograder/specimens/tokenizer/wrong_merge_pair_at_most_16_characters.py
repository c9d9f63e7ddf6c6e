# exercise: merge_pair
# WRONG: joins only up to symbols of 16 characters
def merge_pair(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    left, right = pair
    merged: list[str] = []
    i = 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right] and len(left + right) <= 16:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged
