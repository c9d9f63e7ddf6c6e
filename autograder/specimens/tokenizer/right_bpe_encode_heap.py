# exercise: bpe_encode
# RIGHT: a heap of pairs over a linked list
import heapq


def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
        else:
            ids.extend(_encode_piece(piece.encode(), tokenizer))
    return ids


def _encode_piece(data, tokenizer):
    symbols = [s for s in (tokenizer.byte_to_symbol[b] for b in data) if s in tokenizer.vocab]
    after = list(range(1, len(symbols))) + [None]
    before = [None] + list(range(len(symbols) - 1))
    heap = []

    def offer(i):
        j = after[i]
        if j is not None:
            pair = (symbols[i], symbols[j])
            if pair in tokenizer.ranks:
                heapq.heappush(heap, (tokenizer.ranks[pair], i, pair))

    for i in range(len(symbols)):
        offer(i)
    while heap:
        _, i, pair = heapq.heappop(heap)
        j = after[i]
        if symbols[i] is None or j is None or (symbols[i], symbols[j]) != pair:
            continue
        symbols[i] += symbols[j]
        symbols[j] = None
        after[i] = after[j]
        if after[i] is not None:
            before[after[i]] = i
        offer(i)
        if before[i] is not None:
            offer(before[i])
    return [tokenizer.vocab[s] for s in symbols if s is not None]
