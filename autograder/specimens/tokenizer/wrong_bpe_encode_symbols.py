# exercise: bpe_encode
# WRONG: returns symbols instead of ids
def bpe_encode(text, tokenizer):
    out = []
    for piece in tokenizer.pre_tokenize(text):
        symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        out += symbols
    return out
