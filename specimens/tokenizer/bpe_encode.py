# Versions of bpe_encode, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_bpe_encode_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
        symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids


# %% right_bpe_encode_cached_pieces
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


# %% right_bpe_encode_digits_joined
# RIGHT: joins neighbouring digits into one piece: no two digits have a rank, so nothing changes
def bpe_encode(text, tokenizer):
    pieces = []
    for piece in tokenizer.pre_tokenize(text):
        if pieces and piece in "0123456789" and set(pieces[-1]) <= set("0123456789"):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    ids = []
    for piece in pieces:
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode() if tokenizer.byte_to_symbol[byte] in tokenizer.vocab]
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids


# %% right_bpe_encode_heap
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


# %% right_bpe_encode_one_pair_at_a_time
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


# %% right_bpe_encode_recursion
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


# %% right_bpe_encode_whole_token_shortcut
# RIGHT: looks a whole piece up in the vocabulary before it merges
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
        symbols = [s for s in symbols if tokenizer.vocab.get(s) is not None]
        if "".join(symbols) in tokenizer.vocab:
            ids.append(tokenizer.vocab["".join(symbols)])
            continue
        while True:
            ranked = [(tokenizer.ranks[p], p) for p in zip(symbols, symbols[1:]) if p in tokenizer.ranks]
            if not ranked:
                break
            symbols = merge_pair(symbols, min(ranked)[1])
        ids.extend(map(tokenizer.vocab.__getitem__, symbols))
    return ids


# %% wrong_bpe_encode_hard_limit
# WRONG: stops after twenty merges a piece
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
        for _ in range(20):
            pairs = [p for p in zip(symbols, symbols[1:]) if p in tokenizer.ranks]
            if not pairs:
                break
            symbols = merge_pair(symbols, min(pairs, key=tokenizer.ranks.get))
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids


# %% wrong_bpe_encode_longest_match
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


# %% wrong_bpe_encode_one_occurrence
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


# %% wrong_bpe_encode_ranks_fixed_at_start
# WRONG: sorts the pairs of the beginning by rank and never looks at new ones
def bpe_encode(text, tokenizer):
    ids = []
    for piece in tokenizer.pre_tokenize(text):
        if piece in tokenizer.special_tokens:
            ids.append(tokenizer.special_tokens[piece])
            continue
        symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
        pairs = {p for p in zip(symbols, symbols[1:]) if p in tokenizer.ranks}
        for pair in sorted(pairs, key=tokenizer.ranks.get):
            symbols = merge_pair(symbols, pair)
        ids.extend(tokenizer.vocab[s] for s in symbols)
    return ids


# %% wrong_bpe_encode_shared_cache
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


# %% wrong_bpe_encode_special_by_look
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


# %% wrong_bpe_encode_symbols
# WRONG: returns symbols instead of ids
def bpe_encode(text, tokenizer):
    out = []
    for piece in tokenizer.pre_tokenize(text):
        symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
            if best not in tokenizer.ranks:
                break
            symbols = merge_pair(symbols, best)
        out += symbols
    return out

# %% wrong_bpe_encode_empty_text, of right_bpe_encode_plain
# WRONG: fails on the empty text
# -     for piece in tokenizer.pre_tokenize(text):
# +     for piece in tokenizer.pre_tokenize(text) if text[0] else []:
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_gpt2_pieces, of right_bpe_encode_plain
# WRONG: splits with a simple pattern that keeps numbers together
# -     for piece in tokenizer.pre_tokenize(text):
# +     for piece in __import__("re").findall(r"<\|\w+\|>| ?\w+| ?[^\s\w]+|\s+(?!\S)|\s+", text):
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_line_ends, of right_bpe_encode_plain
# WRONG: turns Windows line ends into plain ones
# -     for piece in tokenizer.pre_tokenize(text):
# +     for piece in tokenizer.pre_tokenize(text.replace("\r\n", "\n")):
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_lower_case, of right_bpe_encode_plain
# WRONG: lowers the case
# -     for piece in tokenizer.pre_tokenize(text):
# +     for piece in tokenizer.pre_tokenize(text.lower()):
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_normalised, of right_bpe_encode_plain
# WRONG: normalises the text (NFC), so that combining characters are lost
# -     for piece in tokenizer.pre_tokenize(text):
# +     for piece in tokenizer.pre_tokenize(__import__("unicodedata").normalize("NFC", text)):
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_prefix_space, of right_bpe_encode_plain
# WRONG: puts a space in front of the text
# -     for piece in tokenizer.pre_tokenize(text):
# +     for piece in tokenizer.pre_tokenize(" " + text):
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_prefix_space_if_missing, of right_bpe_encode_plain
# WRONG: puts a space in front of a text that begins with a letter
# -     for piece in tokenizer.pre_tokenize(text):
# +     for piece in tokenizer.pre_tokenize(" " + text if text[:1].isalpha() else text):
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_special_stripped, of right_bpe_encode_plain
# WRONG: takes a word with spaces around it for the special token
# -     for piece in tokenizer.pre_tokenize(text):
# -         if piece in tokenizer.special_tokens:
# -             ids.append(tokenizer.special_tokens[piece])
# +     for piece in tokenizer.pre_tokenize(text.replace("> ", ">")):
# +         if piece.strip() in tokenizer.special_tokens:
# +             ids.append(tokenizer.special_tokens[piece.strip()])
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_split_at_spaces, of right_bpe_encode_plain
# WRONG: splits at spaces itself instead of asking the pre-tokenizer
# -     for piece in tokenizer.pre_tokenize(text):
# +     for piece in (w if i == 0 else " " + w for i, w in enumerate(text.split(" "))):
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_strips, of right_bpe_encode_plain
# WRONG: strips the text
# -     for piece in tokenizer.pre_tokenize(text):
# +     for piece in tokenizer.pre_tokenize(text.strip()):
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_whole_text, of right_bpe_encode_plain
# WRONG: merges across the borders of the pieces
# -     for piece in tokenizer.pre_tokenize(text):
# -         if piece in tokenizer.special_tokens:
# -             ids.append(tokenizer.special_tokens[piece])
# -             continue
# +     for piece in [text]:
# +         pass
#           symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_whole_text_but_special, of right_bpe_encode_plain
# WRONG: keeps special tokens apart, but merges across all other borders
# -     for piece in tokenizer.pre_tokenize(text):
# +     for piece in _runs(tokenizer.pre_tokenize(text), tokenizer.special_tokens):
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# ...
#       return ids
# +
# +
# + def _runs(pieces, special):
# +     runs = []
# +     for piece in pieces:
# +         if runs and piece not in special and runs[-1] not in special:
# +             runs[-1] += piece
# +         else:
# +             runs.append(piece)
# +     return runs

# %% wrong_bpe_encode_special_as_text, of right_bpe_encode_plain
# WRONG: splits special tokens as text
# -         if piece in tokenizer.special_tokens:
# -             ids.append(tokenizer.special_tokens[piece])
# -             continue
# +         pass
#           symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_special_brackets_dropped, of right_bpe_encode_plain
# WRONG: leaves out a piece from <| to |> that is no special token
# -         if piece in tokenizer.special_tokens:
# -             ids.append(tokenizer.special_tokens[piece])
# +         if piece.startswith("<|") and piece.endswith("|>"):
# +             ids.extend(tokenizer.special_tokens[name] for name in [piece] if name in tokenizer.special_tokens)
# ...
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
# ...
# -         ids.extend(tokenizer.vocab[s] for s in symbols)
# +         ids.extend(tokenizer.vocab[symbol] for symbol in symbols)

# %% wrong_bpe_encode_special_by_brackets, of right_bpe_encode_plain
# WRONG: takes any piece from <| to |> for a special token: raises at the text <||>
# -         if piece in tokenizer.special_tokens:
# +         if piece.startswith("<|") and piece.endswith("|>"):
# ...
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
# ...
# -         ids.extend(tokenizer.vocab[s] for s in symbols)
# +         ids.extend(tokenizer.vocab[symbol] for symbol in symbols)

# %% wrong_bpe_encode_special_only_chat, of right_bpe_encode_plain
# WRONG: knows only the two special tokens of the chat template
# -         if piece in tokenizer.special_tokens:
# +         if piece in ("<|im_start|>", "<|im_end|>"):
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_special_dropped, of right_bpe_encode_plain
# WRONG: leaves special tokens out
# -             ids.append(tokenizer.special_tokens[piece])
# ...
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]

# %% wrong_bpe_encode_ascii_dropped, of right_bpe_encode_plain
# WRONG: drops every character that is not ASCII
# -         symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# +         symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode("ascii", errors="ignore")]

# %% wrong_bpe_encode_characters, of right_bpe_encode_plain
# WRONG: begins with characters instead of bytes
# -         symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# +         symbols = [tokenizer.byte_to_symbol[byte] for byte in [ord(c) % 256 for c in piece]]

# %% wrong_bpe_encode_control_characters_dropped, of right_bpe_encode_plain
# WRONG: leaves out every control character, also those that have a token
# -         symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
# +         symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode() if byte >= 32 or byte in (9, 10, 13)]
# ...
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
# ...
# -         ids.extend(tokenizer.vocab[s] for s in symbols)
# +         ids.extend(tokenizer.vocab[symbol] for symbol in symbols)

# %% wrong_bpe_encode_latin1, of right_bpe_encode_plain
# WRONG: encodes in Latin-1 and drops the rest
# -         symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# +         symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode("latin-1", errors="ignore")]

# %% wrong_bpe_encode_rank_as_id, of right_bpe_encode_plain
# WRONG: gives the rank of the last merge instead of the id
# -         symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# +         symbols = [tokenizer.byte_to_symbol[b] for b in piece.encode()]
# +         rank = None
# ...
#                   break
# +             rank = tokenizer.ranks[best]
#               symbols = merge_pair(symbols, best)
#           ids.extend(tokenizer.vocab[s] for s in symbols)
# +         if len(symbols) == 1 and rank is not None:
# +             ids[-1] = rank

# %% wrong_bpe_encode_strips_pieces, of right_bpe_encode_plain
# WRONG: encodes each piece without the space in front
# -         symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.encode()]
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# +         symbols = [tokenizer.byte_to_symbol[byte] for byte in piece.strip().encode()]

# %% wrong_bpe_encode_bos, of right_bpe_encode_plain
# WRONG: puts the first special token in front
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# ...
# -     return ids
# +     return [tokenizer.bos_token_id, *ids]

# %% wrong_bpe_encode_byte_without_token_raises, of right_bpe_encode_plain
# WRONG: looks every byte up in the vocabulary: raises at a byte that has no token
# SAYS: A byte that has no token (SmolLM2 lacks 21 of them) stops this version with an error: leave such symbols out before you merge.
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
#           while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
# ...
# -         ids.extend(tokenizer.vocab[s] for s in symbols)
# +         ids.extend(tokenizer.vocab[symbol] for symbol in symbols)

# %% wrong_bpe_encode_dropped_after_merging, of right_bpe_encode_plain
# WRONG: leaves out bytes without a token only after the merges: they keep their neighbours apart
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
#           while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
# ...
# -         ids.extend(tokenizer.vocab[s] for s in symbols)
# +         ids.extend(tokenizer.vocab[symbol] for symbol in symbols if symbol in tokenizer.vocab)

# %% wrong_bpe_encode_eos, of right_bpe_encode_plain
# WRONG: puts the end-of-text token at the end
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# ...
# -     return ids
# +     return [*ids, tokenizer.eos_token_id]

# %% wrong_bpe_encode_highest_rank, of right_bpe_encode_plain
# WRONG: merges the pair of highest rank
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
#           while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = max(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, -1))

# %% wrong_bpe_encode_left_to_right, of right_bpe_encode_plain
# WRONG: merges the first pair from the left that has a rank
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
#           while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = next((p for p in zip(symbols, symbols[1:]) if p in tokenizer.ranks), None)

# %% wrong_bpe_encode_longest_symbol, of right_bpe_encode_plain
# WRONG: merges the pair that makes the longest symbol
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
#           while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = max((p for p in zip(symbols, symbols[1:]) if p in tokenizer.ranks), key=lambda p: len(p[0] + p[1]), default=None)

# %% wrong_bpe_encode_missing_byte_cuts_piece, of right_bpe_encode_plain
# WRONG: a byte without a token ends its piece
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# +         known = [symbol in tokenizer.vocab for symbol in symbols]
# +         symbols = symbols[: known.index(False)] if False in known else symbols
#           while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
# ...
# -         ids.extend(tokenizer.vocab[s] for s in symbols)
# +         ids.extend(tokenizer.vocab[symbol] for symbol in symbols)

# %% wrong_bpe_encode_missing_byte_drops_piece, of right_bpe_encode_plain
# WRONG: leaves the whole piece out if one of its bytes has no token
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# +         if any(symbol not in tokenizer.vocab for symbol in symbols):
# +             continue
#           while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
# ...
# -         ids.extend(tokenizer.vocab[s] for s in symbols)
# +         ids.extend(tokenizer.vocab[symbol] for symbol in symbols)

# %% wrong_bpe_encode_missing_byte_is_zero, of right_bpe_encode_plain
# WRONG: a byte without a token becomes id 0
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
#           while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = min(pairwise(symbols), key=lambda pair: tokenizer.ranks.get(pair, math.inf))
# ...
# -         ids.extend(tokenizer.vocab[s] for s in symbols)
# +         ids.extend(tokenizer.vocab.get(symbol, 0) for symbol in symbols)

# %% wrong_bpe_encode_no_merges, of right_bpe_encode_plain
# WRONG: gives one id for each byte
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
#           while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = None

# %% wrong_bpe_encode_one_merge, of right_bpe_encode_plain
# WRONG: merges only one pair in each piece
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# ...
# -             symbols = merge_pair(symbols, best)
# +             symbols = merge_pair(symbols, best); break

# %% wrong_bpe_encode_right_to_left, of right_bpe_encode_plain
# WRONG: merges the last pair that has a rank
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
#           while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +             best = next((p for p in list(zip(symbols, symbols[1:]))[::-1] if p in tokenizer.ranks), None)

# %% wrong_bpe_encode_set, of right_bpe_encode_plain
# WRONG: loses repeated pieces and their order
# -         symbols = [symbol for symbol in symbols if symbol in tokenizer.vocab]
# ...
# -     return ids
# +     return list(dict.fromkeys(ids))

# %% wrong_bpe_encode_special_by_bars, of right_bpe_encode_plain
# WRONG: takes as special only what has the bars of im_start: repo_name and its like become text
# -         if piece in tokenizer.special_tokens:
# +         if piece.startswith("<|") and piece in tokenizer.special_tokens:

# %% wrong_bpe_encode_hundred_merges, of right_bpe_encode_plain
# WRONG: merges each piece at most a hundred times
# -         while len(symbols) > 1:
# +         for _ in range(100):
# +             if len(symbols) < 2:
# +                 break

# %% wrong_bpe_encode_chunks_of_128, of right_bpe_encode_plain
# WRONG: merges a long piece in rows of 128 symbols: no merge crosses their borders
# -         while len(symbols) > 1:
# -             best = min(zip(symbols, symbols[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# -             if best not in tokenizer.ranks:
# -                 break
# -             symbols = merge_pair(symbols, best)
# -         ids.extend(tokenizer.vocab[s] for s in symbols)
# +         for row in [symbols[at : at + 128] for at in range(0, len(symbols), 128)]:
# +             while len(row) > 1:
# +                 best = min(zip(row, row[1:]), key=lambda p: tokenizer.ranks.get(p, float("inf")))
# +                 if best not in tokenizer.ranks:
# +                     break
# +                 row = merge_pair(row, best)
# +             ids.extend(tokenizer.vocab[s] for s in row)
