# exercise: bpe_encode
# RIGHT: joins neighbouring digits into one piece: no two digits have a rank, so nothing changes
def bpe_encode(text, tokenizer):
    pieces = []
    for piece in tokenizer.pre_tokenize(text):
        if pieces and piece in "0123456789" and set(pieces[-1]) <= set("0123456789"):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    ids = []
    for piece in pieces:
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode() if tokenizer.byte_to_symbol[byte] in tokenizer.vocab]
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids
