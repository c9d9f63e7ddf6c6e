# exercise: bpe_encode
# RIGHT: splits at the merge of highest rank that is still needed, by recursion over rounds
def _rounds(symbols, ranks):
    pairs = set(zip(symbols, symbols[1:])) & ranks.keys()
    if not pairs:
        return symbols
    best = min(pairs, key=ranks.__getitem__)
    out, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == best:
            out.append("".join(best))
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return _rounds(out, ranks)


def bpe_encode(text, tokenizer):
    return [
        i
        for piece in tokenizer.pre_tokenize(text)
        for i in (
            [tokenizer.special_tokens[piece]]
            if piece in tokenizer.special_tokens
            else [tokenizer.vocab[s] for s in _rounds([s for s in map(tokenizer.byte_to_symbol.get, piece.encode()) if s in tokenizer.vocab], tokenizer.ranks)]
        )
    ]
