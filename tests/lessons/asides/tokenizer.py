# === encode_chat
# Answers to "Write the safe way" of the tokenizer day. How they are judged: tests/lessons/test_asides.py.


# %% right_pieces
# RIGHT: a name is cut after its first sign, all other text in one go
def encode_chat(messages):
    special = tokenizer.special_tokens
    ids = []

    def add(text):
        rest = ""
        for piece in tokenizer.pre_tokenize(text):
            if piece in special:
                ids.extend(bpe_encode(rest, tokenizer) + bpe_encode(piece[0], tokenizer) + bpe_encode(piece[1:], tokenizer))
                rest = ""
            else:
                rest += piece
        ids.extend(bpe_encode(rest, tokenizer))

    for place, message in enumerate(messages):
        if place:
            add("\n")
        ids.append(special["<|im_start|>"])
        add(f"{message['role']}\n{message['content']}")
        ids.append(special["<|im_end|>"])
    add("\n")
    ids.append(special["<|im_start|>"])
    add("assistant\n")
    return ids


# %% right_split_by_expression
# RIGHT: a regular expression over the names; each half of a name apart
import re

def encode_chat(messages):
    names = "|".join(re.escape(name) for name in tokenizer.special_tokens)

    def plain(text):
        ids = []
        for part in re.split(f"({names})", text):
            if part in tokenizer.special_tokens:
                ids += bpe_encode(part[:2], tokenizer) + bpe_encode(part[2:], tokenizer)
            else:
                ids += bpe_encode(part, tokenizer)
        return ids

    start, end = tokenizer.special_tokens["<|im_start|>"], tokenizer.special_tokens["<|im_end|>"]
    ids = []
    for message in messages:
        ids += [start, *plain(message["role"] + "\n" + message["content"]), end, *plain("\n")]
    return ids + [start, *plain("assistant\n")]


# %% right_letter_by_letter
# RIGHT: a content that holds a name is encoded letter by letter, all of it
def encode_chat(messages):
    start, end = tokenizer.special_tokens["<|im_start|>"], tokenizer.special_tokens["<|im_end|>"]
    ids = []
    for message in messages:
        text = message["role"] + "\n" + message["content"]
        if any(name in text for name in tokenizer.special_tokens):
            inside = [i for letter in text for i in bpe_encode(letter, tokenizer)]
        else:
            inside = bpe_encode(text, tokenizer)
        ids += [start, *inside, end, *bpe_encode("\n", tokenizer)]
    return [*ids, start, *bpe_encode("assistant\n", tokenizer)]


# %% wrong_rendered
# WRONG: the rendered text, encoded as a whole
def encode_chat(messages):
    return bpe_encode(render_chat(messages), tokenizer)


# %% wrong_names_removed
# WRONG: the names are taken out of the content: the text is another
def encode_chat(messages):
    clean = []
    for message in messages:
        content = message["content"]
        for name in tokenizer.special_tokens:
            content = content.replace(name, "")
        clean.append({**message, "content": content})
    return bpe_encode(render_chat(clean), tokenizer)


# %% wrong_removed_in_place
# WRONG: the caller's messages are changed
def encode_chat(messages):
    for message in messages:
        for name in tokenizer.special_tokens:
            message["content"] = message["content"].replace(name, "")
    return bpe_encode(render_chat(messages), tokenizer)


# %% wrong_space_inside
# WRONG: a space in each name: harmless, and not what was written
def encode_chat(messages):
    return bpe_encode(render_chat([{**m, "content": m["content"].replace("<|", "< |")} for m in messages]), tokenizer)


# %% wrong_end_only
# WRONG: only im_end is taken care of
def encode_chat(messages):
    start, end = tokenizer.special_tokens["<|im_start|>"], tokenizer.special_tokens["<|im_end|>"]
    ids = []
    for message in messages:
        parts = (message["role"] + "\n" + message["content"]).split("<|im_end|>")
        inside = bpe_encode(parts[0], tokenizer)
        for part in parts[1:]:
            inside += bpe_encode("<", tokenizer) + bpe_encode("|im_end|>", tokenizer) + bpe_encode(part, tokenizer)
        ids += [start, *inside, end, *bpe_encode("\n", tokenizer)]
    return [*ids, start, *bpe_encode("assistant\n", tokenizer)]


# %% wrong_no_generation_prompt, of right_split_by_expression
# WRONG: nobody's turn at the end
# -     return ids + [start, *plain("assistant\n")]
# +     return ids


# %% wrong_always_letter_by_letter, of right_letter_by_letter
# WRONG: harmless messages get other ids than the model was trained with
# -         if any(name in text for name in tokenizer.special_tokens):
# +         if True:


# %% wrong_template_as_text
# WRONG: the template's own tokens are spelled too
def encode_chat(messages):
    return [i for letter in render_chat(messages) for i in bpe_encode(letter, tokenizer)]


# %% wrong_cut_makes_another_name
# WRONG: names are looked for once, from the left, and the first sign is dropped
def encode_chat(messages):
    start, end = tokenizer.special_tokens["<|im_start|>"], tokenizer.special_tokens["<|im_end|>"]
    ids = []
    for message in messages:
        text = message["role"] + "\n" + message["content"]
        for name in tokenizer.special_tokens:
            text = text.replace(name, name[1:])
        ids += [start, *bpe_encode(text, tokenizer), end, *bpe_encode("\n", tokenizer)]
    return [*ids, start, *bpe_encode("assistant\n", tokenizer)]


# %% wrong_three_names
# WRONG: guards three of the special tokens
def encode_chat(messages):
    import re
    sp = tokenizer.special_tokens; ids = []
    def plain(text):
        out = []
        for p in re.split(r"(<\|im_start\|>|<\|im_end\|>|<\|endoftext\|>)", text):
            out += bpe_encode(p[:1], tokenizer) + bpe_encode(p[1:], tokenizer) if p in sp else bpe_encode(p, tokenizer)
        return out
    for m in messages:
        ids += [sp["<|im_start|>"], *plain(m["role"] + "\n" + m["content"]), sp["<|im_end|>"], *bpe_encode("\n", tokenizer)]
    return ids + [sp["<|im_start|>"], *bpe_encode("assistant\n", tokenizer)]


# %% wrong_role_apart
# WRONG: role and content are encoded apart
def encode_chat(messages):
    sp = tokenizer.special_tokens; ids = []
    def plain(text):
        out, rest = [], ""
        for piece in tokenizer.pre_tokenize(text):
            if piece in sp:
                out += bpe_encode(rest, tokenizer) + bpe_encode(piece[:1], tokenizer) + bpe_encode(piece[1:], tokenizer); rest = ""
            else: rest += piece
        return out + bpe_encode(rest, tokenizer)
    for m in messages:
        ids += [sp["<|im_start|>"], *bpe_encode(m["role"] + "\n", tokenizer), *plain(m["content"]), sp["<|im_end|>"], *bpe_encode("\n", tokenizer)]
    return ids + [sp["<|im_start|>"], *bpe_encode("assistant\n", tokenizer)]


# %% wrong_strip_but_safe
# WRONG: the user's spaces at the ends are gone
def encode_chat(messages):
    sp = tokenizer.special_tokens; ids = []
    def plain(text):
        out, rest = [], ""
        for piece in tokenizer.pre_tokenize(text):
            if piece in sp:
                out += bpe_encode(rest, tokenizer) + bpe_encode(piece[:1], tokenizer) + bpe_encode(piece[1:], tokenizer); rest = ""
            else: rest += piece
        return out + bpe_encode(rest, tokenizer)
    for m in messages:
        ids += [sp["<|im_start|>"], *plain(m["role"] + "\n" + m["content"].strip()), sp["<|im_end|>"], *bpe_encode("\n", tokenizer)]
    return ids + [sp["<|im_start|>"], *bpe_encode("assistant\n", tokenizer)]


# %% wrong_skips_empty
# WRONG: a message without words is left out
def encode_chat(messages):
    sp = tokenizer.special_tokens; ids = []
    def plain(text):
        out, rest = [], ""
        for piece in tokenizer.pre_tokenize(text):
            if piece in sp:
                out += bpe_encode(rest, tokenizer) + bpe_encode(piece[:-1], tokenizer) + bpe_encode(piece[-1:], tokenizer); rest = ""
            else: rest += piece
        return out + bpe_encode(rest, tokenizer)
    for m in messages:
        if not m['content']: continue
        ids += [sp["<|im_start|>"], *plain(m["role"] + "\n" + m["content"]), sp["<|im_end|>"], *bpe_encode("\n", tokenizer)]
    return ids + [sp["<|im_start|>"], *bpe_encode("assistant\n", tokenizer)]


# %% wrong_crashes_empty
# WRONG: a message without words is an error
def encode_chat(messages):
    sp = tokenizer.special_tokens; ids = []
    def plain(text):
        out, rest = [], ""
        for piece in tokenizer.pre_tokenize(text):
            if piece in sp:
                out += bpe_encode(rest, tokenizer) + bpe_encode(piece[:-1], tokenizer) + bpe_encode(piece[-1:], tokenizer); rest = ""
            else: rest += piece
        return out + bpe_encode(rest, tokenizer)
    for m in messages:
        first = m['content'][0]
        ids += [sp["<|im_start|>"], *plain(m["role"] + "\n" + m["content"]), sp["<|im_end|>"], *bpe_encode("\n", tokenizer)]
    return ids + [sp["<|im_start|>"], *bpe_encode("assistant\n", tokenizer)]


# === merge_all
# Answers to the challenge of the tokenizer day. How they are judged: tests/lessons/test_asides.py.


# %% right_heap
# RIGHT: a chain and a heap; an entry is outdated if its symbols no longer stand there
import heapq

def merge_all(symbols, ranks):
    symbols = list(symbols)
    n = len(symbols)
    before, behind = list(range(-1, n - 1)), list(range(1, n + 1))
    heap = []

    def push(i):
        j = behind[i] if 0 <= i < n else n
        if 0 <= i and j < n:
            rank = ranks.get((symbols[i], symbols[j]))
            if rank is not None:
                heapq.heappush(heap, (rank, i, symbols[i], symbols[j]))

    for i in range(n - 1):
        push(i)
    while heap:
        _, i, left, right = heapq.heappop(heap)
        j = behind[i]
        if symbols[i] != left or j >= n or symbols[j] != right:
            continue
        symbols[i], symbols[j] = left + right, None
        behind[i] = behind[j]
        if behind[i] < n:
            before[behind[i]] = i
        push(before[i])
        push(i)
    return [symbol for symbol in symbols if symbol is not None]


# %% right_ranks_beside_the_symbols
# RIGHT: the ranks of all pairs are kept in a list beside the symbols, and two are looked up anew
import math

def merge_all(symbols, ranks):
    symbols = list(symbols)
    found = [ranks.get(pair, math.inf) for pair in zip(symbols, symbols[1:])]
    while found and min(found) < math.inf:
        i = found.index(min(found))
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
        del found[i]
        if i > 0:
            found[i - 1] = ranks.get((symbols[i - 1], symbols[i]), math.inf)
        if i < len(found):
            found[i] = ranks.get((symbols[i], symbols[i + 1]), math.inf)
    return symbols


# %% right_remembered
# RIGHT: looks at all pairs each round, but asks for each kind of pair once
import math
from functools import cache

def merge_all(symbols, ranks):
    rank = cache(lambda left, right: ranks.get((left, right), math.inf))
    symbols = list(symbols)
    while len(symbols) > 1:
        best = min(range(len(symbols) - 1), key=lambda i: rank(symbols[i], symbols[i + 1]))
        pair = symbols[best], symbols[best + 1]
        if rank(*pair) == math.inf:
            break
        symbols = merge_pair(symbols, pair)
    return symbols


# %% wrong_every_round_anew
# WRONG: right, and asks for all ranks in each round
import math

def merge_all(symbols, ranks):
    symbols = list(symbols)
    while len(symbols) > 1:
        best = min(pairwise(symbols), key=lambda pair: ranks.get(pair, math.inf))
        if best not in ranks:
            break
        symbols = merge_pair(symbols, best)
    return symbols


# %% wrong_outdated_entries, of right_heap
# WRONG: an outdated entry is merged all the same
# -         if symbols[i] != left or j >= n or symbols[j] != right:
# +         if symbols[i] is None or j >= n:


# %% wrong_left_neighbour_forgotten, of right_heap
# WRONG: the pair with the symbol in front is not looked up anew
# -         push(before[i])
# -         push(i)
# +         push(i)


# %% wrong_right_neighbour_forgotten, of right_heap
# WRONG: the pair with the symbol behind is not looked up anew
# -         push(before[i])
# -         push(i)
# +         push(before[i])


# %% wrong_chain_not_repaired, of right_heap
# WRONG: the symbol behind still believes that the merged one stands before it
# -         if behind[i] < n:
# -             before[behind[i]] = i
# +         pass


# %% wrong_from_the_left
# WRONG: the first pair from the left that has a rank
def merge_all(symbols, ranks):
    symbols, i = list(symbols), 0
    while i < len(symbols) - 1:
        if (symbols[i], symbols[i + 1]) in ranks:
            symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
            i = max(i - 1, 0)
        else:
            i += 1
    return symbols


# %% wrong_last_place_first, of right_heap
# WRONG: of equal ranks the last place first: aaa becomes a aa
# -                 heapq.heappush(heap, (rank, i, symbols[i], symbols[j]))
# +                 heapq.heappush(heap, (rank, -i, symbols[i], symbols[j]))
# ...
# -         _, i, left, right = heapq.heappop(heap)
# +         _, i, left, right = heapq.heappop(heap)
# +         i = -i


# %% wrong_in_place, of right_ranks_beside_the_symbols
# WRONG: works on the caller's list
# -     symbols = list(symbols)


# %% wrong_rank0_falsy
# WRONG: rank 0 is taken for none
def merge_all(symbols, ranks):
    import heapq
    sym = list(symbols); n = len(sym); prev = list(range(-1, n - 1)); nxt = list(range(1, n + 1)); alive = [True] * n; heap = []
    def push(i):
        j = nxt[i]
        if i >= 0 and j < n:
            r = ranks.get((sym[i], sym[j]))
            if r: heapq.heappush(heap, (r, i, sym[i], sym[j]))
    for i in range(n - 1): push(i)
    while heap:
        r, i, a, b = heapq.heappop(heap)
        if not alive[i] or sym[i] != a or nxt[i] >= n or sym[nxt[i]] != b: continue
        j = nxt[i]; alive[j] = False; sym[i] = a + b; nxt[i] = nxt[j]
        if nxt[j] < n: prev[nxt[j]] = i
        if prev[i] >= 0: push(prev[i])
        push(i)
    return [s for s, ok in zip(sym, alive) if ok]


# %% wrong_empty_crash
# WRONG: a piece without symbols is an error
def merge_all(symbols, ranks):
    import heapq
    assert symbols[0] is not None
    sym = list(symbols); n = len(sym); prev = list(range(-1, n - 1)); nxt = list(range(1, n + 1)); heap = []
    def push(i):
        j = nxt[i]
        if i >= 0 and j < n:
            r = ranks.get((sym[i], sym[j]))
            if r is not None: heapq.heappush(heap, (r, i, sym[i], sym[j]))
    for i in range(n - 1): push(i)
    while heap:
        r, i, a, b = heapq.heappop(heap)
        if sym[i] != a or nxt[i] >= n or sym[nxt[i]] != b: continue
        j = nxt[i]; sym[j] = None; sym[i] = a + b; nxt[i] = nxt[j]
        if nxt[j] < n: prev[nxt[j]] = i
        if prev[i] >= 0: push(prev[i])
        push(i)
    return [s for s in sym if s is not None]


# %% wrong_slow_copy
# WRONG: the rounds of bpe_encode, on a copy of the ranks
def merge_all(symbols, ranks):
    s, ranks = list(symbols), dict(ranks)
    while len(s) > 1:
        best = min(zip(s, s[1:]), key=lambda p: ranks.get(p, float("inf")))
        if best not in ranks: break
        out, i = [], 0
        while i < len(s):
            if tuple(s[i:i + 2]) == best: out.append(s[i] + s[i + 1]); i += 2
            else: out.append(s[i]); i += 1
        s = out
    return s


# %% wrong_uses_library
# WRONG: asks the library
def merge_all(symbols, ranks):
    return [tokenizer.id_to_token[i] for i in tokenizer.encode("".join(symbols))]


# === my_message
# Answers to "Check what you read" of the tokenizer day, three quarters of a word. How they are judged: tests/lessons/test_asides.py.


# %% right_finnish
# RIGHT: long words
my_message = "Hyvää huomenta. Kirjasto avataan kello kahdeksan. Tee, vesi ja keitto ovat kaikille ilmaisia. Kirjoittakaa nimenne luetteloon ennen lähtöänne, ja tervetuloa uudelleen huomenna aamulla."


# %% right_capitals
# RIGHT: English in capitals
my_message = "PLEASE EXPLAIN THE DIFFERENCE BETWEEN THE TWO PLANS, AND SEND THE SIGNED CONTRACT BACK TO OUR BERLIN OFFICE BEFORE WEDNESDAY MORNING."


# %% right_numbers
# RIGHT: a column of numbers
my_message = " ".join(str(1000 + 37 * i) for i in range(30))


# %% right_code
# RIGHT: code
my_message = "for i in range(10): x[i] = x[i-1]*2; y[i] = (x[i]+y[i-1])//3; z.append((x[i], y[i])) if x[i]>y[i] else None; w = {k: v for k, v in z}; assert len(w)<=len(z), f'{w}'"


# %% wrong_message_as_it_is
# WRONG: the cell's own English
my_message = "Good morning. The library opens at eight o'clock. Tea, water and soup are free for everyone. Please write your name on the list before you go."


# %% wrong_too_short
# WRONG: German, but four words
my_message = "Donaudampfschifffahrtsgesellschaft und sonst nichts"


# %% wrong_plain_english
# WRONG: a long English sentence
my_message = "She opened the letter, read it twice, and put it back into the drawer without a word, and then she looked for a candle and for the matches."


# %% wrong_one_long_word
# WRONG: many tokens, one word
my_message = "abcdefgh" * 50


# %% wrong_empty
# WRONG: nothing
my_message = " "


# %% wrong_simple_words
# WRONG: the commonest words
my_message = "the of and to in a is that for it as was with be by on not he his but at are this have"


# %% wrong_thai
# WRONG: five words between spaces, as the lesson says
my_message = "สวัสดี ตอนเช้า ห้องสมุด เปิด แปดโมง"


# === my_text
# Inputs for "Find the bug" of the tokenizer day, the longest token first. How they are judged: tests/lessons/test_asides.py.


# %% right_uncomfortable
# RIGHT: `unc` takes the letter that `comfort` needs
my_text = "uncomfortable"


# %% right_capitals
# RIGHT: fewer tokens than the library makes
my_text = "STRAWBERRY"


# %% right_a_name
# RIGHT: a name nobody has
my_text = "Mrs Brimblecoate"


# %% right_words_run_together
# RIGHT: two words without a space
my_text = "helloworld"


# %% right_accent
# RIGHT: a letter of two bytes
my_text = "café"


# %% wrong_text_as_it_is
# WRONG: the cell's own
my_text = "The cat sat on the mat in hats"


# %% wrong_one_token
# WRONG: a word that is one token
my_text = " strawberry"


# %% wrong_digits
# WRONG: every digit is a piece of its own
my_text = "1969 and 2024"


# %% wrong_nothing
# WRONG: no text at all
my_text = ""


# %% wrong_special
# WRONG: both leave the names of special tokens whole
my_text = "<|im_start|>user"


# %% wrong_no_token_for_a_byte
# WRONG: both leave out a byte that has no token
my_text = "a\x04b"


# %% wrong_two_spaces
# WRONG: both cut into pieces first
my_text = "two  spaces"


# %% wrong_long_and_right
# WRONG: long, of frequent words
my_text = "unbelievable, impossible, and I disagree with the tokenizer"


# === my_tokens
# Inputs for "Find the bug" of the tokenizer day, a decoder that waits with all it has. How they are judged: tests/lessons/test_asides.py.


# %% right_text_and_a_first_byte
# RIGHT: eight bytes could be read
my_tokens = [b"The cat \xe7", b"\x8c", b"\xab"]


# %% right_broken_for_ever
# RIGHT: a byte that begins no character
my_tokens = [b"\xff", b"a", b"b", b"c", b"d"]


# %% right_broken_character
# RIGHT: a character that is broken off
my_tokens = [b"\xe7", b"Hello"]


# %% right_whole_and_a_part
# RIGHT: a whole character waits with the beginning of the next
my_tokens = [b"\xe6\x97\xa5\xe6", b"\x9c\xac"]


# %% wrong_tokens_as_they_are
# WRONG: the figure's stream
my_tokens = [b"\xe6\x97", b"\xa5", b"\xe6\x9c\xac"]


# %% wrong_plain
# WRONG: nothing has to wait
my_tokens = [b"The", b" cat", b" sat"]


# %% wrong_byte_by_byte
# WRONG: three bytes of a smiley wait, as they must
my_tokens = [b"\xf0", b"\x9f", b"\x99", b"\x82"]


# %% wrong_a_letter_and_two_bytes
# WRONG: a letter waits that need not, three bytes in all
my_tokens = [b"a\xe7\x8c", b"\xab"]


# %% wrong_one_whole_token
# WRONG: a long text in one token
my_tokens = ["The cat is 猫 in Japanese".encode()]


# %% wrong_nothing
# WRONG: an empty stream
my_tokens = [b"", b""]


# %% wrong_ends_broken
# WRONG: broken at the end, three bytes
my_tokens = [b"abc", b"\xf0\x9f\x99"]


# === train_bpe
# Trainings of a byte-pair encoding, in the lesson's cell of the tokens day. How they are judged: tests/lessons/test_asides.py.


# %% right_counter
# RIGHT: the lesson's way
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in text.split()], []
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        [(pair, _)] = counts.most_common(1)
        words = [merge_pair(word, pair) for word in words]
        merges.append(pair)
    return merges


# %% right_dictionary
# RIGHT: counted in a dictionary, with max, which takes the first of equals
def train_bpe(text, num_merges):
    rows = []
    for word in text.split():
        rows.append(["Ġ"] + list(word))
    found = []
    while len(found) < num_merges:
        counts = {}
        for row in rows:
            for i in range(len(row) - 1):
                counts[(row[i], row[i + 1])] = counts.get((row[i], row[i + 1]), 0) + 1
        if len(counts) == 0:
            return found
        best = max(counts, key=counts.get)
        found.append(best)
        rows = [merge_pair(row, best) for row in rows]
    return found


# %% right_words_counted_once
# RIGHT: equal words together, in the order in which they come
def train_bpe(text, num_merges):
    words = {word: (["Ġ", *word], count) for word, count in Counter(text.split()).items()}
    merges = []
    for _ in range(num_merges):
        counts = Counter()
        for row, count in words.values():
            for pair in zip(row, row[1:]):
                counts[pair] += count
        if not counts:
            break
        merges.append(max(counts, key=lambda pair: counts[pair]))
        words = {word: (merge_pair(row, merges[-1]), count) for word, (row, count) in words.items()}
    return merges


# %% right_sorted
# RIGHT: sorted by count, which leaves equals in their order
def train_bpe(text, num_merges):
    rows, merges = [["Ġ"] + list(word) for word in text.split()], []
    for _ in range(num_merges):
        pairs = [pair for row in rows for pair in pairwise(row)]
        if pairs:
            merges.append(sorted(pairs, key=pairs.count, reverse=True)[0])
            rows = [merge_pair(row, merges[-1]) for row in rows]
    return merges


# %% wrong_last_of_equals, of right_counter
# WRONG: of equally frequent pairs the last
# -         [(pair, _)] = counts.most_common(1)
# -         words = [merge_pair(word, pair) for word in words]
# -         merges.append(pair)
# +         merges.append(max(reversed(list(counts)), key=counts.get))
# +         words = [merge_pair(word, merges[-1]) for word in words]


# %% wrong_alphabet, of right_counter
# WRONG: of equally frequent pairs the last in the alphabet
# -         [(pair, _)] = counts.most_common(1)
# -         words = [merge_pair(word, pair) for word in words]
# -         merges.append(pair)
# +         merges.append(max(counts, key=lambda pair: (counts[pair], pair)))
# +         words = [merge_pair(word, merges[-1]) for word in words]


# %% wrong_first_of_the_alphabet, of right_counter
# WRONG: of equally frequent pairs the first in the alphabet
# -         [(pair, _)] = counts.most_common(1)
# -         words = [merge_pair(word, pair) for word in words]
# -         merges.append(pair)
# +         merges.append(min(counts, key=lambda pair: (-counts[pair], pair)))
# +         words = [merge_pair(word, merges[-1]) for word in words]


# %% wrong_counted_once
# WRONG: counts the pairs once, before the first merge
def train_bpe(text, num_merges):
    counts = Counter(pair for word in text.split() for pair in pairwise(["Ġ", *word]))
    return [pair for pair, _ in counts.most_common(num_merges)]


# %% wrong_across_words
# WRONG: one row for the whole text
def train_bpe(text, num_merges):
    row, merges = [symbol for word in text.split() for symbol in ("Ġ", *word)], []
    for _ in range(num_merges):
        counts = Counter(pairwise(row))
        if not counts:
            break
        merges.append(counts.most_common(1)[0][0])
        row = merge_pair(row, merges[-1])
    return merges


# %% wrong_without_the_space
# WRONG: words without their space
def train_bpe(text, num_merges):
    words, merges = [list(word) for word in text.split()], []
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_each_word_once
# WRONG: different words only, each counted once
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in dict.fromkeys(text.split())], []
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_overlaps_counted_once
# WRONG: a a a holds (a, a) once
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in text.split()], []
    for _ in range(num_merges):
        counts = Counter()
        for pair in dict.fromkeys(pair for word in words for pair in pairwise(word)):
            counts[pair] = sum(len(word) - len(merge_pair(word, pair)) for word in words)
        if not counts:
            break
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_counts_kept
# WRONG: counts brought up to date in one table, in which an old pair stands before a new one
def train_bpe(text, num_merges):
    words, merges, seen = [["Ġ", *word] for word in text.split()], [], {}
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        for pair in counts:
            seen.setdefault(pair, len(seen))
        if not counts:
            break
        merges.append(min(counts, key=lambda pair: (-counts[pair], seen[pair])))
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_stops_at_twice
# WRONG: leaves out pairs that stand there once
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in text.split()], []
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts or counts.most_common(1)[0][1] < 2:
            break
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_fails_at_the_end
# WRONG: no pair is left, and it fails
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in text.split()], []
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_one_too_many
# WRONG: a merge more than asked for
def train_bpe(text, num_merges):
    words, merges = [["Ġ", *word] for word in text.split()], []
    for _ in range(num_merges + 1):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        merges.append(counts.most_common(1)[0][0])
        words = [merge_pair(word, merges[-1]) for word in words]
    return merges


# %% wrong_with_counts, of right_counter
# WRONG: pairs with their counts
# -         [(pair, _)] = counts.most_common(1)
# -         words = [merge_pair(word, pair) for word in words]
# -         merges.append(pair)
# +         merges.append(counts.most_common(1)[0])
# +         words = [merge_pair(word, merges[-1][0]) for word in words]


# %% wrong_joined, of right_counter
# WRONG: the new symbols in place of the pairs
# -         [(pair, _)] = counts.most_common(1)
# +         pair = counts.most_common(1)[0][0]
# +         merges.append("".join(pair))
# ...
# -         merges.append(pair)


# %% wrong_gives_nothing
# WRONG: nothing is given back
def train_bpe(text, num_merges):
    Counter(text.split()).most_common(num_merges)


# %% wrong_words
# WRONG: the words that it leaves, not the merges
def train_bpe(text, num_merges):
    words = [["Ġ", *word] for word in text.split()]
    for _ in range(num_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        if counts:
            words = [merge_pair(word, counts.most_common(1)[0][0]) for word in words]
    return words


# %% wrong_a_name_that_is_not_there
# WRONG: a name that nobody has defined
def train_bpe(text, num_merges):
    return most_frequent_pairs(text)[:num_merges]
