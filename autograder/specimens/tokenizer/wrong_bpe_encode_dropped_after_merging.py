# exercise: bpe_encode
# WRONG: leaves out bytes without a token only after the merges: they keep their neighbours apart
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
        while len(symbols) > 1:
            best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[symbol] for symbol in symbols if symbol in tokenizer.vocab)
    return ids
