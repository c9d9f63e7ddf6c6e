# exercise: bpe_encode
# RIGHT: keeps what it knows of a piece, for each tokenizer apart
def bpe_encode(text, tokenizer):
    known = {}

    def encode(piece):
        if piece in tokenizer.special_tokens:
            return [tokenizer.special_tokens[piece]]
        symbols = "".join(s for s in map(tokenizer.byte_to_symbol.get, piece.encode()) if s in tokenizer.vocab)
        word = tuple(symbols)
        while len(word) > 1:
            pair = min(zip(word, word[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
            if pair not in tokenizer.ranks:
                break
            word = tuple(merge_pair(list(word), pair))
        return [tokenizer.vocab[s] for s in word]

    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece not in known:
            known[piece] = encode(piece)
        ids += known[piece]
    return ids
