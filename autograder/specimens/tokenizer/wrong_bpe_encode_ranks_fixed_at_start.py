# exercise: bpe_encode
# WRONG: sorts the pairs of the beginning by rank and never looks at new ones
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
        pairs = {p for p in zip(symbols, symbols[1:]) if p in tokenizer.ranks}
        for pair in sorted(pairs, key=tokenizer.ranks.get):
            symbols = merge_pair(symbols, pair)
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids
