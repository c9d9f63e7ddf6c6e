# exercise: bpe_encode
# WRONG: merges the last pair that has a rank
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
        while len(symbols) > 1:
            best = next((p for p in list(zip(symbols, symbols[1:]))[::-1] if p in tokenizer.ranks), None)
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids
