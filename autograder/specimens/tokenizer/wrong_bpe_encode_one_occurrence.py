# exercise: bpe_encode
# WRONG: merges a pair once a round and then forbids it
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
        done = set()
        while True:
            ranked = [
                (tokenizer.ranks[p], i)
                for i, p in enumerate(zip(symbols, symbols[1:]))
                if p in tokenizer.ranks and p not in done
            ]
            if not ranked:
                break
            _, i = min(ranked)
            done.add((symbols[i], symbols[i + 1]))
            symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids
