# exercise: bpe_encode
# WRONG: keeps special tokens apart, but merges across all other borders
def bpe_encode(text, tokenizer):
    ids = []
    for piece in _runs(tokenizer.pre_tokenize(text), tokenizer.special_tokens):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids


def _runs(pieces, special):
    runs = []
    for piece in pieces:
        if runs and piece not in special and runs[-1] not in special:
            runs[-1] += piece
        else:
            runs.append(piece)
    return runs
