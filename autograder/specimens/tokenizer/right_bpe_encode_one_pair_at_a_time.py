# exercise: bpe_encode
# RIGHT: merges one occurrence a round, the leftmost of lowest rank
def bpe_encode(text, tokenizer):
    out = []
    for piece in tokenizer.pre_tokenize(text):
        special = tokenizer.special_tokens.get(piece)
        if special is not None:
            out.append(special)
            continue
        parts = [tokenizer.byte_to_symbol[b] for b in piece.encode("utf-8")]
        parts = list(filter(tokenizer.vocab.__contains__, parts))
        while True:
            best, at = None, None
            for i in range(len(parts) - 1):
                rank = tokenizer.ranks.get((parts[i], parts[i + 1]))
                if rank is not None and (best is None or rank < best):
                    best, at = rank, i
            if at is None:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        out += [tokenizer.vocab[p] for p in parts]
    return out
