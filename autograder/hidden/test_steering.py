"""Checks of the day on steering and stopping that students may not read."""

from __future__ import annotations

import itertools
import math

import torch

from autograder.authoring import checks, close, equal, that
from autograder.checks.test_steering import (
    COPIES_CAUSE,
    WHOLE_CAUSE,
    all_continuations,
    answer,
    chain_model,
    history_model,
    log_prob_of,
    log_rows,
    without_padding,
)

CLEAR = 1e-3  # random cases in which a decision hangs on less than this are drawn again


def integers(rng, low, high, size=1):
    return torch.randint(low, high, (size,), generator=rng).tolist()


def normal(rng, *shape, scale=2.0):
    return scale * torch.randn(*shape, generator=rng, dtype=torch.float64)


# --- min-p -------------------------------------------------------------------------------------------------------


def brute_min_p(row, min_p):
    """(probabilities, how near to the threshold the nearest token is, as a share of it)."""
    highest = max(row)
    weights = [math.exp(x - highest) for x in row]
    kept = [w if w >= min_p else 0.0 for w in weights]
    margin = min((abs(w - min_p) / max(min_p, 1e-30) for w in weights), default=1.0)
    return [w / sum(kept) for w in kept], margin


@checks("min_p_probs")
def test_min_p_against_brute_force(student, rng):
    """random rows, many thresholds"""
    for min_p in (0.01, 0.05, 0.1, 0.3, 0.5, 0.9):
        while True:
            logits = normal(rng, 4, 12)
            rows = [brute_min_p(row, min_p) for row in logits.tolist()]
            if min(margin for _, margin in rows) > CLEAR:
                break
        got = student.min_p_probs(logits.float(), min_p, _unchanged=True)
        close(got, [probs for probs, _ in rows], what=f"wrong values at min_p = {min_p}")


@checks("min_p_probs")
def test_min_p_follows_the_best(student):
    """the threshold moves with the best probability"""
    flat = torch.tensor([[0.1 * math.sin(i) for i in range(80)]])
    cause = "The threshold is relative: min_p times the highest probability, not min_p itself."
    close(student.min_p_probs(flat, 0.3), torch.softmax(flat, -1), cause=cause)
    case = torch.tensor([[0.0, math.log(0.11), math.log(0.09), math.log(0.3)]])
    close(student.min_p_probs(case, 0.1), [[1 / 1.41, 0.11 / 1.41, 0.0, 0.3 / 1.41]], cause=cause)


@checks("min_p_probs")
def test_min_p_large_and_negative_logits(student):
    """only the gaps between logits count"""
    logits = torch.tensor([[0.0, -1.0, -2.0, -5.0]])
    want = [[*torch.softmax(torch.tensor([0.0, -1.0, -2.0]), -1).tolist(), 0.0]]
    for shift in (0.0, 1000.0, -1000.0, 7.5, -20000.0):
        cause = "Work on probabilities, not on the logits themselves."
        close(student.min_p_probs(logits + shift, 0.1), want, cause=cause, what=f"wrong values with {shift} added")


@checks("min_p_probs")
def test_min_p_masked_tokens_stay_out(student):
    """a token of logit -inf stays out, at min_p = 0 too"""
    masked = [1.0, float("-inf"), 0.0, -0.5]
    logits = torch.tensor([masked, [2.0, 1.0, 1.5, 0.5]])
    for min_p in (0.0, 0.05):
        got = student.min_p_probs(logits, min_p)
        close(got, torch.softmax(logits, -1), what=f"wrong values at min_p = {min_p}")


@checks("min_p_probs")
def test_min_p_ties_with_the_best(student, rng):
    """several best tokens share what is kept"""
    logits = normal(rng, 3, 7, scale=1.0).float()
    for row, (first, second) in enumerate(((0, 6), (2, 3), (5, 1))):
        logits[row, first] = logits[row, second] = 9.0 + row
    want = (logits == logits.amax(-1, keepdim=True)).double() / 2
    close(student.min_p_probs(logits, 1.0), want, cause="At least min_p times the highest: equality is enough.")


# --- locally typical ---------------------------------------------------------------------------------------------


def brute_typical(row, mass):
    """(probabilities, smallest margin of the order up to the border and of the mass)."""
    highest = max(row)
    weights = [math.exp(x - highest) for x in row]
    probs = [w / sum(weights) for w in weights]
    entropy = -sum(p * math.log(p) for p in probs if p > 0)
    distance = [abs(-math.log(p) - entropy) if p > 0 else math.inf for p in probs]
    order = sorted(range(len(row)), key=distance.__getitem__)
    kept, total, margin = [], 0.0, math.inf
    for token in order:
        margin = min(margin, abs(total - mass))
        if total >= mass:
            break
        kept.append(token)
        total += probs[token]
    steps = [distance[token] for token in order[: len(kept) + 1]]
    margin = min([margin, *(after - before for before, after in itertools.pairwise(steps))])
    return [p / total if i in kept else 0.0 for i, p in enumerate(probs)], margin


@checks("typical_probs")
def test_typical_against_brute_force(student, rng):
    """random rows, many masses"""
    for mass in (0.05, 0.2, 0.5, 0.8, 0.95):
        while True:
            logits = normal(rng, 4, 12, scale=1.0 + 2 * mass)
            rows = [brute_typical(row, mass) for row in logits.tolist()]
            if min(margin for _, margin in rows) > CLEAR:
                break
        got = student.typical_probs(logits.float(), mass, _unchanged=True)
        close(got, [probs for probs, _ in rows], what=f"wrong values at mass {mass}")


@checks("typical_probs")
def test_typical_small_mass_keeps_one(student, rng):
    """the smallest mass keeps the most typical token, whatever its probability"""
    for _ in range(5):
        while True:
            row = normal(rng, 9, scale=1.5).tolist()
            want, margin = brute_typical(row, 1e-3)
            if margin > CLEAR / 10 and want.count(0.0) == 8:
                break
        got = student.typical_probs(torch.tensor([row]), 1e-3)
        close(got, [want], cause="The first token of the order is always kept.")


@checks("typical_probs")
def test_typical_masked_tokens_stay_out(student):
    """a token of logit -inf stays out, and does no harm"""
    minus_inf = float("-inf")
    probs = [0.40, 0.20, 0.16, 0.14, 0.10]
    row = [minus_inf, *(math.log(p) for p in probs), minus_inf]
    cause = "A probability of 0 adds nothing to the entropy: 0 x ln 0 is nan unless you say otherwise."
    got = student.typical_probs(torch.tensor([row]), 0.45)
    close(got, [[0.0, 0.0, 0.4, 0.32, 0.28, 0.0, 0.0]], cause=cause)
    got = student.typical_probs(torch.tensor([row]), 1.0)
    close(got, [[0.0, *probs, 0.0]], cause=cause)


@checks("typical_probs")
def test_typical_only_gaps_count(student):
    """large logits are as good as small ones"""
    logits = torch.tensor([[0.40, 0.20, 0.16, 0.14, 0.10]]).log()
    for shift in (500.0, -500.0, 1.0):
        got = student.typical_probs(logits + shift, 0.45)
        cause = "Surprisal is -log of the probability, not of the logit: use log_softmax."
        close(got, [[0.0, 0.4, 0.32, 0.28, 0.0]], atol=1e-4, cause=cause)


@checks("typical_probs")
def test_typical_keeps_the_tail_of_a_sure_row_out(student):
    """where the model is sure, typical sampling keeps what it is sure of"""
    probs = [0.002, 0.97, 0.008, 0.01, 0.01]
    got = student.typical_probs(torch.tensor([probs]).log(), 0.9)
    close(got, [[0.0, 1.0, 0.0, 0.0, 0.0]], cause="At an entropy near 0 the typical token is the expected one.")


@checks("typical_probs")
def test_typical_left_out_is_nothing(student):
    """what is left out gets exactly 0"""
    got = student.typical_probs(torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log(), 0.2)
    equal(int((got == 0).sum()), 3, what="wrong number of tokens with probability exactly 0", cause="Left out is exactly 0, not nearly.")


# --- repetition penalty ------------------------------------------------------------------------------------------


@checks("apply_repetition_penalty")
def test_repetition_against_brute_force(student, rng):
    """random rows, ids and penalties"""
    for penalty in (1.05, 1.3, 2.0, 5.0):
        logits, ids = normal(rng, 3, 11), torch.randint(0, 11, (3, 8), generator=rng)
        want = logits.clone()
        for row in range(3):
            for token in set(ids[row].tolist()):
                x = float(logits[row, token])
                want[row, token] = x / penalty if x > 0 else x * penalty
        got = student.apply_repetition_penalty(logits.float(), ids, penalty, _unchanged=True)
        close(got, want, what=f"wrong values at penalty {penalty}")


@checks("apply_repetition_penalty")
def test_repetition_looks_at_all_ids(student):
    """a token that came once, a hundred tokens ago"""
    ids = torch.tensor([[0] + [1] * 100])
    got = student.apply_repetition_penalty(torch.tensor([[2.2, -2.0, 1.0]]), ids, 1.1)
    close(got, [[2.0, -2.2, 1.0]], cause="Every token that occurs in generated_ids, however long ago.")


@checks("apply_repetition_penalty")
def test_repetition_penalty_lowers_or_raises(student, rng):
    """above 1 no seen token gains, at 1 none changes, below 1 none loses"""
    logits, ids = normal(rng, 2, 9).float(), torch.arange(0, 9, 2).repeat(2, 1)
    close(student.apply_repetition_penalty(logits, ids, 1.0), logits, cause="Penalty 1 changes nothing.")
    got = torch.as_tensor(student.apply_repetition_penalty(logits, ids, 0.5))
    factor = torch.where(logits > 0, 2.0, 0.5)
    factor[:, 1::2] = 1.0
    cause = "A penalty below 1 rewards repetition by the same rule: +2.0 / 0.5 = 4.0, -2.0 x 0.5 = -1.0."
    close(got, logits * factor, cause=cause)


@checks("apply_repetition_penalty")
def test_repetition_counts_the_ids_given_and_no_others(student):
    """only the ids of this call count: no prompt, no earlier call"""
    logits = torch.tensor([[4.0, -1.0, 2.0, 1.0]])
    student.apply_repetition_penalty(logits, torch.tensor([[3, 1, 0, 0]]), 2.0)
    cause = "The caller decides which ids count: use those of the call, all of them, and nothing remembered."
    got = student.apply_repetition_penalty(logits, torch.tensor([[2]]), 2.0)
    close(got, [[4.0, -1.0, 1.0, 1.0]], cause=cause)
    got = student.apply_repetition_penalty(logits, torch.tensor([[3, 1, 0]]), 2.0)
    close(got, [[2.0, -2.0, 2.0, 0.5]], cause=cause)


@checks("apply_repetition_penalty")
def test_repetition_special_logits(student):
    """a logit of -inf stays -inf, one of 0 stays 0, and the last token of the vocabulary counts"""
    minus_inf = float("-inf")
    logits = torch.tensor([[minus_inf, 0.0, 3.0, minus_inf, 5.0]])
    got = student.apply_repetition_penalty(logits, torch.tensor([[0, 1, 4]]), 2.0)
    close(got, [[minus_inf, 0.0, 3.0, minus_inf, 2.5]])


# --- frequency and presence --------------------------------------------------------------------------------------


@checks("apply_frequency_presence")
def test_frequency_presence_against_brute_force(student, rng):
    """random rows, ids and settings, negative ones too"""
    for frequency, presence in ((0.3, 0.7), (2.0, 0.0), (0.0, 2.0), (-0.5, 0.2), (0.4, -1.5)):
        logits, ids = normal(rng, 3, 6), torch.randint(0, 6, (3, 9), generator=rng)
        want = logits.clone()
        for row in range(3):
            for token in set(ids[row].tolist()):
                count = ids[row].tolist().count(token)
                want[row, token] -= count * frequency + presence
        got = student.apply_frequency_presence(logits.float(), ids, frequency, presence, _unchanged=True)
        close(got, want, what=f"wrong values at frequency {frequency}, presence {presence}", atol=1e-5)


@checks("apply_frequency_presence")
def test_frequency_presence_counts_the_ids_given_and_no_others(student):
    """only the ids of this call count: no prompt, no earlier call"""
    logits = torch.tensor([[1.0, 2.0, 3.0]])
    student.apply_frequency_presence(logits, torch.tensor([[0, 0, 1]]), 0.5, 0.25)
    cause = "The caller decides which ids count: use those of the call, all of them, and nothing remembered."
    got = student.apply_frequency_presence(logits, torch.tensor([[2]]), 0.5, 0.25)
    close(got, [[1.0, 2.0, 2.25]], cause=cause)
    got = student.apply_frequency_presence(logits, torch.tensor([[0, 0, 2]]), 0.5, 0.25)
    close(got, [[-0.25, 2.0, 2.25]], cause=cause)


@checks("apply_frequency_presence")
def test_frequency_presence_special_logits(student):
    """a logit of -inf stays -inf, unseen tokens keep theirs, and long repetitions count in full"""
    minus_inf = float("-inf")
    logits = torch.tensor([[minus_inf, 0.0, 3.0, minus_inf]])
    ids = torch.tensor([[0] * 3 + [2] * 300])
    got = student.apply_frequency_presence(logits, ids, 0.01, 0.5)
    close(got, [[minus_inf, 0.0, -0.5, minus_inf]], atol=1e-5, cause="300 occurrences count 300 times.")


@checks("apply_frequency_presence")
def test_frequency_and_presence_are_not_swapped(student):
    """frequency comes first, presence second"""
    logits = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    ids = torch.tensor([[1, 1, 1], [0, 0, 1]])
    got = student.apply_frequency_presence(logits, ids, 1.0, 0.125)
    cause = "The frequency is multiplied by the count, the presence is not."
    close(got, [[0.0, -3.125], [-1.125, -0.125]], cause=cause)


# --- stop strings ------------------------------------------------------------------------------------------------


def occurrences(text, stop):
    """Where `stop` begins in `text`, overlapping ones too."""
    return [i for i in range(len(text) - len(stop) + 1) if text.startswith(stop, i)]


def expected_stream(stops, pieces):
    """The answers of a right stream; None where "the earliest" can be read in two ways (a stop inside another)."""
    text, emitted, answers = "", 0, []
    for piece in pieces:
        text += piece
        found = [(start + len(stop), start) for stop in stops for start in occurrences(text, stop)]
        safe = next(i for i in range(len(text) + 1) if any(stop.startswith(text[i:]) for stop in stops))
        if found:
            start = min(start for _, start in found)
            if min(found)[1] != start or safe < start:
                return None
            answers.append((text[emitted:start], True))
            return answers
        answers.append((text[emitted:safe], False))
        emitted = safe
    return answers


def word(rng, letters, length):
    return "".join(letters[i] for i in integers(rng, 0, len(letters), length))


def cut(rng, text, longest=4):
    """The text in pieces of 0 to `longest` characters."""
    pieces = []
    while text:
        n = integers(rng, 0, longest + 1)[0]
        pieces.append(text[:n])
        text = text[n:]
    return pieces


def compare(student, stops, pieces, cause=None):
    """Pushes pieces until the stream stops; every answer must be the expected one, and so must flush."""
    want = expected_stream(stops, pieces)
    stream = student.StopStrings(stops)
    for i, expected in enumerate(want):
        emit, stopped = stream.push(pieces[i])
        what = f"push({pieces[i]!r}), piece {i + 1} of {pieces}, stops {stops}"
        that((emit, bool(stopped)) == expected, what, expected=repr(expected), got=repr((emit, stopped)), cause=cause)
    rest = "" if want and want[-1][1] else "".join(pieces)[sum(len(emit) for emit, _ in want) :]
    got = stream.flush()
    that(got == rest, f"flush() after {pieces}, stops {stops}", expected=repr(rest), got=repr(got), cause=cause)


@checks("StopStrings", weight=2)
def test_stop_random_streams(student, rng):
    """random streams, cut at random: every emit, exactly"""
    tried = stopped = 0
    while tried < 60 or stopped < 15:
        letters = "ab" if tried % 2 else "abc"
        stops = [word(rng, letters, length) for length in integers(rng, 1, 5, integers(rng, 1, 4)[0])]
        pieces = cut(rng, word(rng, letters, 14))
        want = expected_stream(stops, pieces)
        if want is None or len(want) < 3:
            continue
        tried, stopped = tried + 1, stopped + want[-1][1]
        compare(student, stops, pieces)


@checks("StopStrings")
def test_stop_cuts_do_not_matter(student):
    """the same text comes out however it is cut"""
    text, stops = "She said: <end of story> and then <end> more", ["<end>", "<stop>"]
    for size in (1, 2, 3, 5, 8, 13, 100):
        compare(student, stops, [text[i : i + size] for i in range(0, len(text), size)])


@checks("StopStrings")
def test_stop_that_begins_inside_itself(student):
    """a stop whose beginning repeats is not missed"""
    cause = "After a mismatch a shorter suffix may still be the beginning of a stop: look at all suffixes again."
    for stop, text in (("aab", "aaaab!"), ("abac", "ababacx"), ("\n\n\n#", "x\n\n\n\n#y"), ("ababc", "abababc")):
        for pieces in (list(text), [text], [text[:3], text[3:]]):
            compare(student, [stop], pieces, cause)


@checks("StopStrings")
def test_stop_several_beginnings(student):
    """of several possible beginnings the longest is held back"""
    cause = "Each stop may have its beginning at the end of the text; hold back the longest of them."
    compare(student, ["bcd", "abcx"], ["zab", "c", "y", "bc", "e"], cause)
    compare(student, ["abcx", "bcd"], ["zab", "c", "d"], cause)
    compare(student, ["</s>", "</stop>", "<|end|>"], ["a<", "/", "s", "t", "op", "<|e", "nd|", ">"], cause)
    cause = "A stop may lie inside the beginning of another: look for each of them."
    compare(student, ["abcd", "bc"], ["xabcy"], cause)
    cause = "A stop may be long: hold back all of its beginning."
    compare(student, ["\nObservation from tool:"], ["so\nObservation from", " tool", ": 3"], cause)
    cause = "Of two stops that end at the same place, the one that begins first is the earlier."
    compare(student, ["cd", "abcd"], ["ab", "c", "d"], cause)


@checks("StopStrings")
def test_stop_ordinary_characters(student):
    """stops are plain text: dots, brackets, case, accents and line ends mean themselves"""
    compare(student, ["..."], ["one.", "two", "..", ".three"], "A dot is a dot: stops are no regular expressions.")
    compare(student, ["(a|b)*"], ["a b (a", "|b)*"], "Stops are no regular expressions.")
    compare(student, ["STOP"], ["stop Stop S", "TO", "P"], "Upper and lower case are different.")
    compare(student, ["\n"], ["  keep my spaces ", " \t", "\n"], "Spaces belong to the text: emit them as they came.")
    compare(student, ["终わり", "fin é"], ["最终", "わ", "りx"])
    compare(student, ["fin é"], ["fin", " ", "e fin ", "é"])


@checks("StopStrings")
def test_stop_streams_know_nothing_of_each_other(student):
    """two streams at once, an empty piece, and nothing to flush"""
    one, two = student.StopStrings(["ab"]), student.StopStrings(["xy"])
    for stream, piece, want in (
        (one, "1a", ("1", False)),
        (two, "2x", ("2", False)),
        (one, "", ("", False)),
        (one, "b", ("", True)),
        (two, "b", ("xb", False)),
    ):
        emit, stopped = stream.push(piece)
        that((emit, bool(stopped)) == want, f"push({piece!r})", expected=repr(want), got=repr((emit, stopped)))
    equal(two.flush(), "", cause="Nothing was held back.")


@checks("StopStrings")
def test_stop_swallows_the_rest_of_its_piece(student):
    """what follows the stop in its own piece never comes out"""
    stream = student.StopStrings(["##", "!?"])
    emit, stopped = stream.push("so #")
    that((emit, bool(stopped)) == ("so ", False), "push('so #')", expected="('so ', False)", got=repr((emit, stopped)))
    emit, stopped = stream.push("#more !")
    that((emit, bool(stopped)) == ("", True), "push('#more !')", expected="('', True)", got=repr((emit, stopped)))
    for piece in ("?", "text", ""):
        equal(stream.push(piece)[0], "", cause="After the stop nothing more is emitted.")
    equal(stream.flush(), "", cause="After the stop there is nothing left to give back.")


# --- beam search -------------------------------------------------------------------------------------------------


def children(model, prompt, hypotheses):
    """All continuations by one token of hypotheses of equal length: (tokens, log_prob) each."""
    ids = torch.tensor([[*prompt, *tokens] for tokens, _ in hypotheses])
    rows = torch.log_softmax(model(ids)[:, -1], -1).tolist()
    return [
        ((*tokens, token), log_prob + step)
        for (tokens, log_prob), row in zip(hypotheses, rows, strict=True)
        for token, step in enumerate(row)
    ]


def plain_beam(model, prompt, beams, steps):
    """(tokens, log_prob, smallest margin of any decision) of beam search without EOS."""
    kept, margin = [((), 0.0)], math.inf
    for _ in range(steps):
        grown = sorted(children(model, prompt, kept), key=lambda h: -h[1])
        if len(grown) > beams:
            margin = min(margin, grown[beams - 1][1] - grown[beams][1])
        kept = grown[:beams]
    if len(kept) > 1:
        margin = min(margin, kept[0][1] - kept[1][1])
    return list(kept[0][0]), kept[0][1], margin


def beam_with_eos(model, prompt, beams, steps, eos, way):
    """(tokens, smallest margin) of beam search when finished hypotheses are treated in one of the usual ways.

    keep: they hold their place among the beams. aside: they leave, and the beams are filled with live ones.
    first: as aside, but an EOS counts only among the `beams` best (transformers). early: as aside, and the search
    ends with `beams` finished ones.
    """
    live, done, margin = [((), 0.0)], [], math.inf
    for _ in range(steps):
        pool = sorted(children(model, prompt, live) + (done if way == "keep" else []), key=lambda h: -h[1])
        best = pool[:beams]
        margin = min([margin, *(a[1] - b[1] for a, b in itertools.pairwise(pool[: 2 * beams + 2]))])
        if way == "keep":
            done = [h for h in best if h[0][-1] == eos]
            live = [h for h in best if h[0][-1] != eos]
        else:
            done += [h for h in (best if way == "first" else pool[: 2 * beams]) if h[0][-1] == eos]
            live = [h for h in pool if h[0][-1] != eos][:beams]
            if way == "early" and len(done) >= beams:
                break
        if not live:
            break
    ranked = sorted(done + live, key=lambda h: -h[1])
    margin = min([margin, *(a[1] - b[1] for a, b in itertools.pairwise(ranked[:2]))])
    return list(ranked[0][0]), margin


@checks("beam_search")
def test_beam_as_many_as_asked_for(student, rng):
    """random models, two to four beams, no EOS"""
    for beams in (2, 3, 4):
        while True:
            prompt = integers(rng, 0, 12, 2)
            model = history_model(12, 8, rng, spread=0.4)
            tokens, log_prob, margin = plain_beam(model, prompt, beams, 6)
            others = 1 if beams == 2 else 2 * beams if beams == 3 else beams - 1  # too few, too many, one too few
            if margin > CLEAR and tokens != plain_beam(model, prompt, others, 6)[0]:
                break
        idx = torch.tensor([prompt])
        got, got_log_prob = answer(student.beam_search(model, idx, beams=beams, max_new_tokens=6, _unchanged=True), idx)
        equal(got, tokens, cause=f"{COPIES_CAUSE} {WHOLE_CAUSE}", what=f"wrong tokens with {beams} beams")
        close(got_log_prob, log_prob, atol=1e-4)


@checks("beam_search")
def test_beam_enough_beams_with_eos(student, rng):
    """with enough beams, the best of all continuations that may end early"""
    vocab, steps, eos = 3, 4, 1
    ends = {True: 0, False: 0}
    while min(ends.values()) < 2:
        model, prompt = history_model(vocab, 1 + steps, rng, spread=1.0), [integers(rng, 0, vocab)[0]]
        (best, want), (runner_up, _) = all_continuations(model, prompt, vocab, steps, eos)[:2]
        early = eos in want
        if best - runner_up < CLEAR or ends[early] >= 2:
            continue
        ends[early] += 1
        idx = torch.tensor([prompt])
        result = student.beam_search(model, idx, beams=vocab**steps, max_new_tokens=steps, eos_token_id=eos)
        tokens, log_prob = answer(result, idx)
        cause = "Finished hypotheses compete to the end with those that grow; the highest log_prob wins."
        equal(without_padding(tokens, eos), want, cause=cause)
        close(log_prob, best, atol=1e-4, cause=cause)


@checks("beam_search")
def test_beam_few_beams_with_eos(student, rng):
    """few beams, and hypotheses that finish early or late"""
    eos = 0
    wanted = [(2, "at once"), (2, "later"), (3, "later"), (3, "never")]
    while wanted:
        (beams, when), prompt = wanted[0], [integers(rng, 1, 6)[0]]
        model = history_model(6, 5, rng, spread=1.0)
        tokens, margin = beam_with_eos(model, prompt, beams, 4, eos, "keep")
        if when != ("never" if eos not in tokens else "at once" if tokens == [eos] else "later") or margin < CLEAR:
            continue
        ways = [beam_with_eos(model, prompt, beams, 4, eos, way) for way in ("aside", "first", "early")]
        if any(other != tokens or margin < CLEAR for other, margin in ways):
            continue  # the ways part here: the rule does not say which is right
        wanted.pop(0)
        idx = torch.tensor([prompt])
        got = student.beam_search(model, idx, beams=beams, max_new_tokens=4, eos_token_id=eos)
        got_tokens, log_prob = answer(got, idx)
        equal(without_padding(got_tokens, eos), tokens, what=f"wrong tokens with {beams} beams")
        close(log_prob, log_prob_of(model, prompt, tokens), atol=1e-4)


@checks("beam_search")
def test_beam_does_not_stop_at_the_first_eos(student):
    """an early EOS is beaten by a better hypothesis, and beats a worse one"""
    eos = 3
    rows = [[0.03, 0.90, 0.05, 0.02], [0.02, 0.05, 0.91, 0.02], [0.3, 0.4, 0.29, 0.01], [0.25, 0.25, 0.25, 0.25]]
    rows.append([0.60, 0.06, 0.04, 0.30])  # the prompt's row: EOS 0.30, token 0 0.60, then 0.90 and 0.91
    model, idx = chain_model(log_rows(rows)), torch.tensor([[4]])
    got = student.beam_search(model, idx, beams=2, max_new_tokens=3, eos_token_id=eos)
    tokens, log_prob = answer(got, idx)
    cause = "The first EOS does not end the search: 0.60 x 0.90 x 0.91 = 0.4914 is more than 0.30."
    equal(tokens, [0, 1, 2], cause=cause)
    close(log_prob, math.log(0.6 * 0.9 * 0.91), atol=1e-4)
    rows[0] = [0.24, 0.25, 0.26, 0.25]
    model = chain_model(log_rows(rows))
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=3, eos_token_id=eos), idx)
    cause = "A finished hypothesis stays in the race: EOS at once, 0.30, is better than anything after token 0."
    equal(without_padding(tokens, eos), [eos], cause=cause)
    close(log_prob, math.log(0.3), atol=1e-4, cause=cause)


@checks("beam_search")
def test_beam_eos_in_the_prompt(student):
    """an EOS in the prompt is text like any other"""
    eos = 2
    after_0, after_1 = [0.10, 0.80, 0.01, 0.03, 0.03, 0.03], [0.85, 0.05, 0.01, 0.03, 0.03, 0.03]
    after_eos = [0.90, 0.021, 0.019, 0.02, 0.02, 0.02]
    rows = log_rows([after_0, after_1, after_eos, *[[1 / 6] * 6] * 3])
    for prompt in ([1, 2], [2, 0, 2], [2]):
        idx = torch.tensor([prompt])
        got = student.beam_search(chain_model(rows), idx, beams=2, max_new_tokens=3, eos_token_id=eos)
        tokens, log_prob = answer(got, idx)
        equal(tokens, [0, 1, 0], cause="Only a new token can finish a hypothesis: chat prompts are full of EOS tokens.")
        close(log_prob, math.log(0.90 * 0.80 * 0.85), atol=1e-4)


@checks("beam_search")
def test_beam_length_penalty(student, hand):
    """a length penalty above 0 favours the longer hypothesis"""
    case, eos = hand["length_penalty"], 6
    rows = torch.full((8, 7), 1e-6, dtype=torch.float64)
    rows[7, 0], rows[7, eos] = case["long_probs"][0], case["short_probs"][0]
    rows[7, 5] = 1 - rows[7].sum()
    for i, p in enumerate(case["long_probs"][1:-1]):
        rows[i, i + 1], rows[i, 5] = p, 1 - p
    rows[3, eos], rows[3, 5] = case["long_probs"][-1], 1 - case["long_probs"][-1]
    rows[5, :eos] = 1 / eos
    model, idx = chain_model(rows.log()), torch.tensor([[7] * 20])
    short, long = ([eos], case["short_log_prob"]), ([0, 1, 2, 3, eos], case["long_log_prob"])
    for penalty, (want, log_prob) in ((0.0, short), (1.0, long)):
        got = student.beam_search(model, idx, beams=3, max_new_tokens=6, length_penalty=penalty, eos_token_id=eos)
        tokens, got_log_prob = answer(got, idx)
        cause = "Rank by log_prob / n ** length_penalty, where n counts the new tokens only, not the prompt."
        equal(without_padding(tokens, eos), want, cause=cause, what=f"wrong tokens at length_penalty {penalty}")
        cause = "log_prob is the sum of the logarithms; the length penalty is for ranking only."
        close(got_log_prob, log_prob, atol=1e-3, cause=cause)


@checks("beam_search")
def test_beam_logits_are_not_log_probabilities(student, rng):
    """the model gives logits: any constant may be added to a row"""
    model, prompt = history_model(4, 6, rng, spread=1.0), [1, 3, 0]

    def shifted(ids):
        return model(ids) + 10.0 * (ids.cumsum(-1) % 3).unsqueeze(-1)

    best, _ = all_continuations(model, prompt, 4, 3)[0]
    idx = torch.tensor([prompt])
    tokens, log_prob = answer(student.beam_search(shifted, idx, beams=64, max_new_tokens=3), idx)
    cause = "Take log_softmax of each row before adding: raw logits of two rows cannot be compared."
    close(log_prob, best, atol=1e-4, cause=cause)
    close(log_prob_of(model, prompt, tokens), best, atol=1e-4)


@checks("beam_search")
def test_beam_children_of_one_parent_may_all_survive(student):
    """all survivors may come from one hypothesis"""
    words, prompt = 8, 8  # the prompt is a token of its own; 0 leads to 3, 4, 5, and 5 to a certainty
    flat = [1 / words] * words
    rows = [flat] * (words + 1)
    rows[prompt] = [0.90, 0.05, 0.05, 0, 0, 0, 0, 0]
    rows[0] = [0, 0, 0, 0.36, 0.34, 0.30, 0, 0]
    rows[5] = [0, 0, 0, 0, 0, 0, 0.02, 0.98]
    idx = torch.tensor([[prompt]])
    got = student.beam_search(chain_model(log_rows(rows)), idx, beams=3, max_new_tokens=3)
    tokens, log_prob = answer(got, idx)
    cause = "The best `beams` of all continuations survive, whichever hypotheses they come from."
    equal(tokens, [0, 5, 7], cause=cause)
    close(log_prob, math.log(0.9 * 0.3 * 0.98), atol=1e-4)
