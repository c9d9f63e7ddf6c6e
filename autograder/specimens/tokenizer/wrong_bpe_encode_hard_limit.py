# exercise: bpe_encode
# WRONG: stops after twenty merges a piece
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
        for _ in range(20):
            pairs = [p for p in zip(symbols, symbols[1:]) if p in tokenizer.ranks]
            if not pairs:
                break
            symbols = merge_pair(symbols, min(pairs, key=tokenizer.ranks.get))
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids
