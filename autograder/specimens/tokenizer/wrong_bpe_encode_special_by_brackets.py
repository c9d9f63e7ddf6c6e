# exercise: bpe_encode
# WRONG: takes any piece from <| to |> for a special token: raises at the text <||>
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece.startswith("<|") and piece.endswith("|>"):
            ids.append(tokenizer.special_tokens[piece])
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
