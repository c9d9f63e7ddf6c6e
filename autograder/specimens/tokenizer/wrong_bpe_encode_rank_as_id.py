# exercise: bpe_encode
# WRONG: gives the rank of the last merge instead of the id
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
        rank = None
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
            if best not in tokenizer.ranks:
                break
            rank = tokenizer.ranks[best]
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[s] for s in symbols)
        if len(symbols) == 1 and rank is not None:
            ids[-1] = rank
    return ids
