# exercise: bpe_encode
# WRONG: merges across the borders of the pieces
def bpe_encode(text, tokenizer):
    ids = []
    for piece in [text]:
        pass
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids
