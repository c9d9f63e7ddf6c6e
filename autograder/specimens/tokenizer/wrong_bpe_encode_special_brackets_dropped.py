# exercise: bpe_encode
# WRONG: leaves out a piece from <| to |> that is no special token
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece.startswith("<|") and piece.endswith("|>"):
            ids.extend(tokenizer.special_tokens[name] for name in [piece] if name in tokenizer.special_tokens)
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
        symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
        while len(symbols) > 1:
            best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[symbol] for symbol in symbols)
    return ids
