# exercise: bpe_encode
# WRONG: a byte without a token ends its piece
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
        known = [symbol in tokenizer.vocab for symbol in symbols]
        symbols = symbols[: known.index(False)] if False in known else symbols
        while len(symbols) > 1:
            best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[symbol] for symbol in symbols)
    return ids
