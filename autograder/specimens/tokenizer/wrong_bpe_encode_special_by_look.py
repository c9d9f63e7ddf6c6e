# exercise: bpe_encode
# WRONG: takes everything that looks like a special token for one
def bpe_encode(text, tokenizer):
    ids = []
    for piece in _split(text, tokenizer):
        if piece.startswith("<|") and piece.endswith("|>"):
            ids.append(tokenizer.special_tokens.get(piece, 0))
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids


def _split(text, tokenizer):
    import re

    pieces = []
    for part in re.split(r"(<\|\w+\|>)", text):
        pieces += [part] if part.startswith("<|") and part.endswith("|>") else tokenizer.pre_tokenize(part)
    return pieces
