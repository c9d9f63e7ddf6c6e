# exercise: bpe_encode
# WRONG: remembers pieces across tokenizers
_known = {}


def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece not in _known:
            if piece in tokenizer.special_tokens:
                _known[piece] = [tokenizer.special_tokens[piece]]
            else:
                symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
                while len(symbols) > 1:
                    best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
                    if best not in tokenizer.ranks:
                        break
                    symbols = merge_pair(symbols, best)
                _known[piece] = [tokenizer.vocab[s] for s in symbols]
        ids += _known[piece]
    return ids
