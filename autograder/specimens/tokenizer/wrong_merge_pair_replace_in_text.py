# exercise: merge_pair
# WRONG: joins with spaces and replaces in the text: a pair may begin inside a symbol
def merge_pair(symbols, pair):
    text = " ".join(symbols)
    return text.replace(" ".join(pair), "".join(pair)).split()
