"""Checks of the day on steering and stopping that students may read."""

from __future__ import annotations

import itertools
import math

import torch

from autograder.authoring import checks, close, equal, that

FIVE = [2.0, -1.5, 0.3, 4.2, -0.8]


# --- what the checks share ---------------------------------------------------------------------------------------


def chain_model(rows):
    """A model that looks at the last token only: rows (V, V) of logits -> ids (B, T) to logits (B, T, V)."""
    table = torch.as_tensor(rows)

    def model(ids):
        if ids.dim() != 2:
            raise ValueError(f"the model takes ids of shape (B, T), got {tuple(ids.shape)}")
        return table[ids]

    return model


def log_rows(rows):
    """Rows of probabilities as logits; a probability of 0 becomes one that nobody will choose."""
    return torch.tensor(rows, dtype=torch.float64).clamp_min(1e-12).log()


def history_model(vocab, longest, rng, spread=1.5):
    """A model whose logits depend on every token so far: ids (B, T) -> logits (B, T, V), float64."""
    weights = spread * torch.randn(longest, vocab, vocab, generator=rng, dtype=torch.float64)

    def model(ids):
        batch, length = ids.shape
        logits = torch.zeros(batch, length, vocab, dtype=torch.float64)
        for back in range(length):  # the token `back` places ago adds its row
            logits[:, back:] += weights[back][ids[:, : length - back]]
        return logits

    return model


def answer(result, idx):
    """(new tokens as a list, log_prob as a float) of what beam_search gave back."""
    ids, log_prob = result
    ids = [int(i) for i in torch.as_tensor(ids).reshape(-1)]
    prompt = idx.reshape(-1).tolist()
    that(
        ids[: len(prompt)] == prompt,
        "the ids do not begin with the prompt",
        expected=prompt,
        got=ids,
        cause="Give back the prompt and the new tokens, in one tensor of shape (1, T + n).",
    )
    return ids[len(prompt) :], float(log_prob)


def log_prob_of(model, prompt, tokens):
    """The sum of the log probabilities of `tokens` after `prompt`, in float64."""
    ids = torch.tensor([[*prompt, *tokens]])
    log_probs = torch.log_softmax(model(ids).to(torch.float64), dim=-1)[0]
    return sum(float(log_probs[len(prompt) - 1 + i, token]) for i, token in enumerate(tokens))


def all_continuations(model, prompt, vocab, steps, eos=None):
    """(log_prob, tokens) of every continuation of `steps` tokens, best first; with EOS a continuation ends there."""
    every = torch.tensor(list(itertools.product(range(vocab), repeat=steps)))  # (V**steps, steps)
    ids = torch.cat([torch.tensor([prompt] * len(every)), every], dim=1)
    log_probs = torch.log_softmax(model(ids).to(torch.float64), dim=-1)[:, len(prompt) - 1 : -1]
    log_probs = log_probs.gather(-1, every.unsqueeze(-1)).squeeze(-1)
    if eos is not None:
        ended_before = ((every == eos).cumsum(-1) - (every == eos).long()) > 0
        log_probs = log_probs.masked_fill(ended_before, 0.0)
    scored = {}
    for tokens, log_prob in zip(every.tolist(), log_probs.sum(-1).tolist(), strict=True):
        end = tokens.index(eos) + 1 if eos in tokens else steps
        scored[tuple(tokens[:end])] = log_prob
    return sorted(((log_prob, list(tokens)) for tokens, log_prob in scored.items()), reverse=True)


# --- min-p -------------------------------------------------------------------------------------------------------

MIN_P_CAUSE = "The threshold is min_p times the row's highest probability; divide what is kept by its sum."


@checks("min_p_probs")
def test_min_p_by_hand(student, hand):
    """a tenth of the best probability, by hand"""
    case = hand["min_p"]
    got = student.min_p_probs(torch.tensor([case["logits"]]), 0.1)
    close(got, [case["probs_01"]], atol=5.1e-5, cause=MIN_P_CAUSE)


@checks("min_p_probs")
def test_min_p_lower_threshold_by_hand(student, hand):
    """a fiftieth lets a third token in"""
    case = hand["min_p"]
    got = student.min_p_probs(torch.tensor([case["logits"]]), 0.02)
    close(got, [case["probs_002"]], atol=5.1e-5, cause=MIN_P_CAUSE)


@checks("min_p_probs")
def test_min_p_zero_keeps_everything(student):
    """min_p = 0 keeps everything"""
    logits = torch.tensor([FIVE, [0.0, 3.0, -2.0, 1.0, 1.5]])
    got = student.min_p_probs(logits, 0.0)
    close(got, torch.softmax(logits, -1), cause="No probability is below 0 times the highest: nothing is cut.")


@checks("min_p_probs")
def test_min_p_one_keeps_the_best(student):
    """min_p = 1 keeps the best token, and those that equal it"""
    logits = torch.tensor([FIVE, [1.0, 3.0, 3.0, 0.0, 2.9]])
    got = student.min_p_probs(logits, 1.0)
    want = [[0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.5, 0.5, 0.0, 0.0]]
    close(got, want, cause="At least min_p times the highest: a token exactly at the threshold stays (>=, not >).")


@checks("min_p_probs")
def test_min_p_rows_have_their_own_threshold(student):
    """every row has its own threshold"""
    sure, unsure = [10.0, 2.0, 2.0, 2.0, 2.0], [1.0, 1.2, 0.9, 1.1, 1.0]
    logits = torch.tensor([sure, unsure])
    got = student.min_p_probs(logits, 0.1, _unchanged=True)
    want = [[1.0, 0.0, 0.0, 0.0, 0.0], torch.softmax(torch.tensor(unsure), -1).tolist()]
    close(got, want, cause="Take the maximum over the last dimension with keepdim=True, so that each row has one.")
    close(student.min_p_probs(logits.flip(0), 0.1), list(reversed(want)), cause="Rows must not influence each other.")


# --- locally typical ---------------------------------------------------------------------------------------------


@checks("typical_probs")
def test_typical_by_hand(student, hand):
    """the order 3, 0, 2, 4, 1, by hand"""
    case = hand["typical"]
    logits = torch.tensor([case["logits"]])
    only_the_first = [0.0, 0.0, 0.0, 1.0, 0.0]
    wants = {0.5: only_the_first, 0.95: case["probs_095"], 0.98: case["probs_098"], 0.995: case["probs_0995"]}
    for mass, want in wants.items():
        got = student.typical_probs(logits, mass)
        close(
            got,
            [want],
            atol=5.1e-5,
            what=f"wrong values at mass {mass}",
            cause="Sort by |surprisal - entropy|, smallest first; keep tokens up to the one that reaches mass.",
        )


@checks("typical_probs")
def test_typical_may_leave_the_best_out(student, hand):
    """the most probable token may be left out"""
    case = hand["typical_without_the_best"]
    got = student.typical_probs(torch.tensor([case["probs"]]).log(), 0.45)
    close(
        got,
        [case["probs_045"]],
        atol=5.1e-5,
        cause="Order by the distance of surprisal from entropy (both in nats); by probability it would be top-p.",
    )


@checks("typical_probs")
def test_typical_token_that_reaches_the_mass_is_kept(student, hand):
    """the token that reaches the mass is kept, and none after it"""
    case = hand["typical_without_the_best"]
    logits = torch.tensor([case["probs"]]).log()
    for mass, kept in ((0.1, {1}), (0.3, {1, 2}), (0.4, {1, 2, 3}), (0.6, {0, 1, 2, 3}), (0.95, {0, 1, 2, 3, 4})):
        got = student.typical_probs(logits, mass)
        total = sum(case["probs"][i] for i in kept)
        want = [p / total if i in kept else 0.0 for i, p in enumerate(case["probs"])]
        close(
            got,
            [want],
            what=f"wrong values at mass {mass}",
            cause="A token is kept if the sum of those before it is still below mass.",
        )


@checks("typical_probs")
def test_typical_mass_one_keeps_everything(student):
    """mass = 1 keeps everything"""
    logits = torch.tensor([FIVE, [0.0, 1.0, -1.0, 0.5, 1.5]])
    got = student.typical_probs(logits, 1.0)
    close(got, torch.softmax(logits, -1), cause="The mass of all tokens is needed to reach 1.")


@checks("typical_probs")
def test_typical_rows_are_independent(student, hand):
    """each row has its own entropy, order and number of tokens"""
    case = hand["typical_without_the_best"]
    logits = torch.stack([torch.tensor(FIVE), torch.tensor(case["probs"]).log()])
    want = [[0.0, 0.0, 0.0, 1.0, 0.0], case["probs_045"]]
    cause = "Entropy, order and running sum belong to a row: give each a dimension with keepdim or unsqueeze(-1)."
    close(student.typical_probs(logits, 0.45, _unchanged=True), want, atol=5.1e-5, cause=cause)
    close(student.typical_probs(logits.flip(0), 0.45), want[::-1], atol=5.1e-5, cause=cause)


# --- repetition penalty ------------------------------------------------------------------------------------------


@checks("apply_repetition_penalty")
def test_repetition_by_hand(student, hand):
    """+2.2 becomes 2.0, and -2.0 becomes -2.2"""
    case = hand["repetition_penalty"]
    got = student.apply_repetition_penalty(torch.tensor([case["logits"]]), torch.tensor([[0, 1]]), case["penalty"])
    close(got, [case["want"]], cause="Dividing a negative logit makes it more likely: multiply it by the penalty.")


@checks("apply_repetition_penalty")
def test_repetition_once_for_each_token(student, hand):
    """a token that occurs three times is penalised once"""
    case = hand["repetition_penalty"]
    cause = "The penalty asks whether a token occurs, not how often: mark the tokens, then penalise the marked ones."
    logits, ids = torch.tensor([case["logits"]]), torch.tensor([case["generated_ids"]])
    close(student.apply_repetition_penalty(logits, ids, case["penalty"]), [case["want"]], cause=cause)
    got = student.apply_repetition_penalty(torch.tensor([[6.0, 1.0]]), torch.tensor([[0, 0, 0]]), 2.0)
    close(got, [[3.0, 1.0]], cause=cause)


@checks("apply_repetition_penalty")
def test_repetition_rows_look_at_their_own_ids(student):
    """a row is penalised for its own ids only"""
    logits = torch.tensor([[4.0, -1.0, 2.0], [4.0, -1.0, 2.0]])
    got = student.apply_repetition_penalty(logits, torch.tensor([[0, 0], [1, 2]]), 2.0)
    cause = "Scatter along the last dimension, each row with its own ids."
    close(got, [[2.0, -1.0, 2.0], [4.0, -2.0, 1.0]], cause=cause)


@checks("apply_repetition_penalty")
def test_repetition_of_nothing(student):
    """nothing generated yet: nothing penalised"""
    logits = torch.tensor([[4.0, -1.0, 2.0]])
    none_yet = torch.zeros(1, 0, dtype=torch.int64)
    close(student.apply_repetition_penalty(logits, none_yet, 2.0), logits, cause="With T = 0 no token occurs.")
    # with one id something must happen, or a function that does nothing would pass
    close(student.apply_repetition_penalty(logits, torch.tensor([[2]]), 2.0), [[4.0, -1.0, 1.0]])


@checks("apply_repetition_penalty")
def test_repetition_gives_new_logits(student):
    """new logits: the ones given stay as they are"""
    logits = torch.tensor([[4.0, -1.0, 2.0]])
    got = student.apply_repetition_penalty(logits, torch.tensor([[1, 0]]), 4.0, _unchanged=True)
    close(got, [[1.0, -4.0, 2.0]])


# --- frequency and presence --------------------------------------------------------------------------------------


@checks("apply_frequency_presence")
def test_frequency_presence_by_hand(student, hand):
    """a logit of 3.0 that occurred four times becomes 2.4"""
    case = hand["frequency_presence"]
    got = student.apply_frequency_presence(
        torch.tensor([case["logits"]]), torch.tensor([case["generated_ids"]]), case["frequency"], case["presence"]
    )
    close(got, [case["want"]], cause="Subtract count x frequency, and presence once where the count is above 0.")


@checks("apply_frequency_presence")
def test_presence_asks_whether(student):
    """presence asks whether: once or four times is the same"""
    logits = torch.tensor([[3.0, 3.0, 3.0]])
    got = student.apply_frequency_presence(logits, torch.tensor([[0, 0, 0, 0, 1]]), 0.0, 0.5)
    close(got, [[2.5, 2.5, 3.0]], cause="Presence is taken off once for each token that occurs, however often.")


@checks("apply_frequency_presence")
def test_frequency_asks_how_often(student):
    """frequency asks how often: four times costs four times as much"""
    logits = torch.tensor([[3.0, 3.0, 3.0]])
    got = student.apply_frequency_presence(logits, torch.tensor([[0, 1, 0, 0, 0]]), 0.5, 0.0)
    close(
        got,
        [[1.0, 2.5, 3.0]],
        cause="Count every occurrence: x[ids] += 1 adds once for equal ids; scatter_add and bincount add each time.",
    )


@checks("apply_frequency_presence")
def test_frequency_presence_lowers_negative_logits(student):
    """a negative logit goes down too"""
    got = student.apply_frequency_presence(torch.tensor([[-2.0, 0.0, 1.0]]), torch.tensor([[0, 1, 1]]), 0.25, 0.5)
    close(got, [[-2.75, -1.0, 1.0]], cause="A difference is a difference whatever the sign: no case distinction here.")


@checks("apply_frequency_presence")
def test_frequency_presence_rows_and_nothing(student):
    """each row counts its own ids; with no ids nothing changes"""
    logits = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    got = student.apply_frequency_presence(logits, torch.tensor([[0, 0], [2, 1]]), 0.5, 0.25, _unchanged=True)
    close(got, [[-0.25, 2.0, 3.0], [1.0, 1.25, 2.25]], cause="Count along the last dimension, each row its own ids.")
    got = student.apply_frequency_presence(logits, torch.zeros(2, 0, dtype=torch.int64), 0.5, 0.25)
    close(got, logits, cause="With T = 0 every count is 0, and presence is owed only where the count is above 0.")


# --- stop strings ------------------------------------------------------------------------------------------------


def feed(student, stops, pieces, emits, stopped, cause):
    """Pushes the pieces and compares every answer; gives the stream back for more."""
    stream = student.StopStrings(stops)
    for i, (piece, emit) in enumerate(zip(pieces, emits, strict=True)):
        want = (emit, stopped and i == len(pieces) - 1)
        got = stream.push(piece)
        got = (got[0], bool(got[1]))
        what = f"push({piece!r}), piece {i + 1} of {pieces}, stops {stops}"
        that(got == want, what, expected=repr(want), got=repr(got), cause=cause)
    return stream


@checks("StopStrings")
def test_stop_inside_one_piece(student):
    """a stop inside one piece: the text before it, and stop"""
    cause = "Emit the text before the stop; not the stop, and not what follows."
    feed(student, ["###"], ["Hello###World"], ["Hello"], True, cause)
    feed(student, ["###"], ["###"], [""], True, cause)


@checks("StopStrings")
def test_stop_cut_in_two(student):
    """a stop cut in two by the tokens is found"""
    cause = "Keep the end of the text that may begin a stop, and look for stops in what was kept plus the new piece."
    feed(student, ["\nUser:"], ["Hi.", "\nUs", "er:"], ["Hi.", "", ""], True, cause)
    feed(student, ["STOP"], ["aS", "T", "O", "P"], ["a", "", "", ""], True, cause)


@checks("StopStrings")
def test_stop_by_hand(student, hand):
    """held back exactly as long as needed, by hand"""
    case = hand["stop_strings"]
    cause = "Hold back the longest suffix of the text that is the beginning of some stop, and nothing more."
    feed(student, case["stops"], case["pieces"], case["emits"], True, cause)


@checks("StopStrings")
def test_stop_flush(student):
    """flush gives what was held back when the stream ends"""
    cause = "What was held back goes out once it can be no stop."
    stream = feed(student, ["###"], ["a#", "b", "##"], ["a", "#b", ""], False, cause)
    equal(stream.flush(), "##", cause="The stream has ended: what was held back is text after all.")


@checks("StopStrings")
def test_stop_nothing_after_the_stop(student):
    """nothing comes out after the stop"""
    stream = feed(student, ["END"], ["one E", "ND two"], ["one ", ""], True, "What follows the stop is never shown.")
    got = stream.push(" three")
    equal(got[0], "", cause="Once stopped, later pieces emit nothing.")
    equal(stream.flush(), "", cause="Neither the stop nor what follows it comes out at the end.")


@checks("StopStrings")
def test_stop_earliest_wins(student):
    """the earliest stop in the text wins, whatever the order of the list"""
    cause = "Compare the places where the stops are found, not the order in which they are listed."
    for stops in (["DONE", "\n\n"], ["\n\n", "DONE"]):
        feed(student, stops, ["yes\n\nno DONE"], ["yes"], True, cause)
        feed(student, stops, ["yes DONE no\n\n"], ["yes "], True, cause)


# --- beam search -------------------------------------------------------------------------------------------------

BEAM_CAUSE = "At every step keep the best `beams` of all continuations of all hypotheses, by summed log probability."
COPIES_CAUSE = "Starting from `beams` copies of the prompt gives `beams` equal hypotheses: start from one."
WHOLE_CAUSE = "Give the model the whole sequence and read its last position."


@checks("beam_search")
def test_beam_tree_by_hand(student, hand):
    """the mat, by hand: 0.82 x 0.60 = 0.492"""
    case = hand["beam_tree"]
    words = len(case["words"])
    even = [1 / words] * words
    rows = [case["after_mat"], case["after_floor"], case["after_table"], *[even] * (words - 3), case["first"]]
    model = chain_model(log_rows(rows))
    idx = torch.tensor([[words]])  # the prompt: a token of its own, with a row but not in the vocabulary
    tokens, log_prob = answer(student.beam_search(model, idx, beams=3, max_new_tokens=2), idx)
    equal(tokens, [0, 3], cause=BEAM_CAUSE)
    close(log_prob, case["log_prob"], atol=1e-4, cause="log_prob is ln 0.82 + ln 0.60.")


@checks("beam_search")
def test_beam_escapes_the_greedy_trap(student, hand):
    """two beams find 0.36 where greedy finds 0.21"""
    case = hand["greedy_trap"]
    model = chain_model(log_rows([case["after_0"], case["after_1"], [0.25] * 4, case["first"]]))
    idx = torch.tensor([[3]])
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=2, _unchanged=True), idx)
    equal(tokens, case["best_ids"], cause=f"{BEAM_CAUSE} {COPIES_CAUSE}")
    close(log_prob, case["best_log_prob"], atol=1e-4)
    tokens, log_prob = answer(student.beam_search(model, idx, beams=1, max_new_tokens=2), idx)
    equal(tokens, [0, 2], cause="One beam is greedy decoding.")
    close(log_prob, case["greedy_log_prob"], atol=1e-4)


@checks("beam_search")
def test_beam_enough_beams_find_the_best(student, rng):
    """with enough beams, the best of all continuations"""
    vocab, steps, idx = 3, 3, torch.tensor([[2, 0]])
    model = history_model(vocab, 2 + steps, rng)
    prompt = idx[0].tolist()
    best, _ = all_continuations(model, prompt, vocab, steps)[0]
    tokens, log_prob = answer(student.beam_search(model, idx, beams=vocab**steps, max_new_tokens=steps), idx)
    close(log_prob, best, atol=1e-4, cause=f"{BEAM_CAUSE} {WHOLE_CAUSE}")
    close(log_prob_of(model, prompt, tokens), best, atol=1e-4, cause="The ids must be those that log_prob belongs to.")


@checks("beam_search")
def test_beam_finished_is_not_expanded(student):
    """a finished hypothesis ends with its EOS and keeps its score"""
    eos = 2
    rows = log_rows([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])  # after EOS the model would go on with token 0
    rows[1] = torch.tensor([0.3, 0.1, 0.6]).log()
    model, idx = chain_model(rows), torch.tensor([[1]])
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=4, eos_token_id=eos), idx)
    close(log_prob, math.log(0.6), atol=1e-4, cause="A finished hypothesis keeps its score while others grow.")
    cause = "A hypothesis that has emitted EOS is finished: do not append to it."
    equal(without_padding(tokens, eos), [eos], cause=cause)


def without_padding(tokens, eos):
    """The tokens up to the first EOS, where nothing but EOS follows it; else the tokens as they are."""
    if eos in tokens and set(tokens[tokens.index(eos) :]) == {eos}:
        return tokens[: tokens.index(eos) + 1]
    return tokens


@checks("beam_search")
def test_beam_long_sequences_do_not_underflow(student):
    """300 improbable tokens: logarithms are summed, probabilities would vanish"""
    vocab, steps = 16, 300
    rows = torch.zeros(vocab, vocab)
    rows[torch.arange(vocab), (torch.arange(vocab) * 5 + 3) % vocab] = 0.25
    model, idx = chain_model(rows), torch.tensor([[7]])
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=steps), idx)
    step = 0.25 - math.log(vocab - 1 + math.exp(0.25))
    close(
        log_prob,
        steps * step,
        rtol=1e-4,
        cause="A product of 300 probabilities of 0.08 is below the smallest float: add logarithms.",
    )
    want = [7]
    for _ in range(steps):
        want.append((want[-1] * 5 + 3) % vocab)
    equal(tokens, want[1:], cause="The best continuation takes the raised token at every step.")
