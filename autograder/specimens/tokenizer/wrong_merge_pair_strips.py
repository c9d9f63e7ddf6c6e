# exercise: merge_pair
# WRONG: strips spaces from the new symbol
def merge_pair(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    left, right = pair
    merged: list[str] = []
    i = 0
    while i < len(symbols):
        if symbols[i : i + 2] == [left, right]:
            merged.append((left + right).strip())
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged
