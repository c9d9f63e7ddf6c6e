# exercise: bpe_encode
# WRONG: takes the longest token of the vocabulary from the left instead of merging
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = "".join(tokenizer.byte_to_symbol[b] for b in piece.encode())
        at = 0
        while at < len(symbols):
            end = next(e for e in range(len(symbols), at, -1) if symbols[at:e] in tokenizer.vocab)
            ids.append(tokenizer.vocab[symbols[at:end]])
            at = end
    return ids
