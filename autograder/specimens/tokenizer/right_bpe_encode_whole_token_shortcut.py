# exercise: bpe_encode
# RIGHT: looks a whole piece up in the vocabulary before it merges
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
        symbols = [s for s in symbols if tokenizer.vocab.get(s) is not None]
        if "".join(symbols) in tokenizer.vocab:
            ids.append(tokenizer.vocab["".join(symbols)])
            continue
        while True:
            ranked = [(tokenizer.ranks[p], p) for p in zip(symbols, symbols[1:]) if p in tokenizer.ranks]
            if not ranked:
                break
            symbols = merge_pair(symbols, min(ranked)[1])
        ids.extend(map(tokenizer.vocab.__getitem__, symbols))
    return ids
