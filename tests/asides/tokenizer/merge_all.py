# Answers to the challenge of the tokenizer day. How they are judged: tests/test_asides.py.


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


# %% wrong_chain_not_mended, of right_heap
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
