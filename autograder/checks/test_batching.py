"""Checks of the batch that students may read.

What is due is always what a row gives alone: the kit's own model, which knows no padding and no cache, is run on each
prompt by itself. `tiny` is the trained model; `Small` are random ones of a page, for what tiny cannot show.
"""

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.checks.batches import (
    ALONE,
    EOS,
    LAST,
    MASK,
    ONE_EACH,
    POSITIONS,
    SLOT,
    START,
    TINY,
    Slots,
    all_end,
    alone,
    by_precision,
    cut,
    decoded,
    generated,
    greedy,
    left_padded,
    look,
    padded,
    prefilled,
    ragged,
    same_mask,
    tiny,
    uniform,
)  # fmt: skip

# ---- left_pad ------------------------------------------------------------------------------------------------------


@checks("left_pad", weight=2)
def test_three_rows_by_hand(student, hand):
    """three prompts of lengths 3, 1 and 4"""
    case = hand["three_rows"]
    ids, num_pad = left_padded(student, case["prompts"], case["pad_id"])
    equal(ids, torch.tensor(case["ids"]), cause="Pads stand before the prompt, as many as are missing to the longest.")
    equal(num_pad, torch.tensor(case["num_pad"]), cause="num_pad counts the pads of each row: the longest length minus the row's own.")


@checks("left_pad")
def test_nothing_to_pad(student):
    """prompts of equal length, and one prompt alone"""
    for prompts in ([[1, 2], [3, 4], [5, 6]], [[7, 8, 9]], [[4]]):
        ids, num_pad = left_padded(student, prompts, 0)
        equal(ids, torch.tensor(prompts), cause="Where all are equally long there is nothing to add.")
        equal(num_pad, torch.zeros(len(prompts)), cause="num_pad is 0 in a row without pads.")


@checks("left_pad")
def test_pad_id_may_be_a_token(student):
    """prompts that hold the pad id themselves"""
    ids, num_pad = left_padded(student, [[7, 7], [1, 2, 7, 3], [7]], 7)
    equal(ids, torch.tensor([[7, 7, 7, 7], [1, 2, 7, 3], [7, 7, 7, 7]]), cause="Any id may serve as pad.")
    cause = "Count the pads by length. A prompt may hold the same id, so looking for it finds too many."
    equal(num_pad, torch.tensor([2, 0, 3]), cause=cause)


@checks("left_pad")
def test_nothing_to_continue(student):
    """no prompt at all, and a prompt without a token"""
    for prompts in ([], [[]], [[1, 2], []], [[], [3]]):
        raises(ValueError, lambda p=prompts: student.left_pad(p, 0), cause=f"{prompts}: an empty prompt has no last token to go on from.")


# ---- positions_and_mask --------------------------------------------------------------------------------------------


@checks("positions_and_mask", weight=2)
def test_grid_by_hand(student, hand):
    """the grid of three rows, by hand"""
    case = hand["grid"]
    positions, mask = student.positions_and_mask(torch.tensor(case["num_pad"]), 0, 4)
    equal(positions, torch.tensor(case["positions"]), cause=POSITIONS)
    same_mask(mask, torch.tensor(case["mask"])[:, None], "", MASK)
    look(student, case["num_pad"], 0, 4)


@checks("positions_and_mask")
def test_no_pads(student):
    """without pads: the causal mask, and positions as ever"""
    for B, q_len in ((1, 1), (1, 4), (3, 5)):
        look(student, [0] * B, 0, q_len)


@checks("positions_and_mask", weight=2)
def test_one_new_token(student, hand):
    """a decode step: one query after five slots"""
    case = hand["decode"]
    positions, mask = student.positions_and_mask(torch.tensor(case["num_pad"]), case["start"], 1)
    equal(positions, torch.tensor(case["positions"]), cause=f"{POSITIONS} The first slot of this pass is `start`.")
    same_mask(mask, torch.tensor(case["mask"])[:, None], "", f"{MASK} The keys are all start + 1 slots.")
    look(student, case["num_pad"], case["start"], 1)


@checks("positions_and_mask")
def test_chunks(student):
    """chunks that begin among the pads and after them"""
    for start in range(6):
        look(student, [3, 0, 5, 1], start, 3)


# ---- prefill_batch -------------------------------------------------------------------------------------------------


@checks("prefill_batch", weight=2)
def test_ragged_prompts(student, rng):
    """each row of a ragged batch as if it were alone"""
    prompts = ragged(rng, [5, 12, 1, 9])
    got, _, _ = prefilled(student, student.model(TINY), tiny().config, prompts)
    close(got, alone(tiny(), prompts), atol=1e-4, cause=f"{LAST} {POSITIONS} {MASK}")


@checks("prefill_batch")
def test_pads_do_not_matter(student, rng):
    """the same logits whatever id the pads have"""
    prompts = ragged(rng, [2, 7, 4])
    want = alone(tiny(), prompts)
    for pad_id in (0, 2, 1000, prompts[0][0]):
        got, _, _ = prefilled(student, student.model(TINY), tiny().config, prompts, pad_id=pad_id)
        close(got, want, atol=1e-4, what=f"wrong logits with pad_id {pad_id}", cause=f"{MASK} Go by num_pad, never by the id.")


@checks("prefill_batch")
def test_rectangles(student, rng):
    """equal lengths, and a batch of one"""
    for lengths in ([6, 6, 6], [8], [1]):
        prompts = ragged(rng, lengths)
        got, _, _ = prefilled(student, student.model(TINY), tiny().config, prompts)
        close(got, alone(tiny(), prompts), atol=1e-4, cause=f"Without pads this is the prefill of the day before. {LAST}")


@checks("prefill_batch", weight=2)
def test_prompts_in_chunks(student, rng):
    """fed in chunks, cut anywhere, also among the pads"""
    prompts = ragged(rng, [3, 10, 6])
    want = alone(tiny(), prompts)
    for cuts in ((5,), (2, 8), (9,), (1, 2, 3)):
        got, _, _ = prefilled(student, student.model(TINY), tiny().config, prompts, cuts=cuts)
        close(got, want, atol=1e-4, what=f"wrong logits after chunks cut at {list(cuts)}", cause=f"{START} {MASK}")


@checks("prefill_batch")
def test_head_at_the_last_column(student, rng):
    """the head is computed once a row"""
    prompts = ragged(rng, [64, 40])
    ids, num_pad = padded(prompts)
    cache = student.KVCache(tiny().config, 2, 64)
    with student.counting() as work:
        got = student.prefill_batch(student.model(TINY), ids, num_pad, cache)
    close(got, alone(tiny(), prompts), atol=1e-4, cause=f"{LAST} {POSITIONS} {MASK}")
    c = tiny().config
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    token = c.num_hidden_layers * (2 * c.hidden_size * (q + kv) + 3 * c.hidden_size * c.intermediate_size)
    due = 2 * (2 * 64 * token + c.num_hidden_layers * 2 * 2 * 64 * 64 * q + 2 * c.vocab_size * c.hidden_size)
    that(
        work.flops <= 1.05 * due,
        "more arithmetic than the layers and one row of logits a prompt need",
        expected=f"about {due / 1e6:.1f} MFLOP",
        got=f"{work.flops / 1e6:.1f} MFLOP",
        cause="Take the last column before the final norm and the head: nobody asks for the other logits.",
    )


# ---- decode_batch --------------------------------------------------------------------------------------------------


@checks("decode_batch", weight=2)
def test_steps_after_ragged_prompts(student, rng):
    """three steps after ragged prompts, each row as if alone"""
    prompts = ragged(rng, [4, 11, 1])
    _, num_pad, cache = prefilled(student, student.model(TINY), tiny().config, prompts, room=3)
    for _ in range(3):
        prompts = [prompt + new for prompt, new in zip(prompts, ragged(rng, [1, 1, 1]), strict=True)]
        got = decoded(student, student.model(TINY), prompts, tiny().config, num_pad, cache)
        close(got, alone(tiny(), prompts), atol=1e-4, cause=f"{ALONE} {START} {POSITIONS} {MASK}")


@checks("decode_batch")
def test_steps_of_rectangles(student, rng):
    """after equal lengths, and one row alone"""
    for lengths in ([6, 6], [5], [1]):
        prompts = ragged(rng, lengths)
        _, num_pad, cache = prefilled(student, student.model(TINY), tiny().config, prompts, room=2)
        for _ in range(2):
            prompts = [prompt + new for prompt, new in zip(prompts, ragged(rng, [1] * len(lengths)), strict=True)]
            got = decoded(student, student.model(TINY), prompts, tiny().config, num_pad, cache)
            close(got, alone(tiny(), prompts), atol=1e-4, cause=f"{START} {POSITIONS}")


@checks("decode_batch")
def test_one_position_a_row(student, rng):
    """one position a row goes through the model, however long the text is"""
    prompts = ragged(rng, [30, 17, 8])
    model = student.model(TINY)
    _, num_pad, cache = prefilled(student, model, tiny().config, prompts, room=1)
    prompts = [[*prompt, 9] for prompt in prompts]
    with student.counting() as work:
        got = decoded(student, model, prompts, tiny().config, num_pad, cache)
    close(got, alone(tiny(), prompts), atol=1e-4, cause=f"{START} {POSITIONS} {MASK}")
    equal(work.positions, 3, what="wrong number of positions in one step of three rows", cause=ONE_EACH)


# ---- generate_batch ------------------------------------------------------------------------------------------------


@checks("generate_batch", weight=3)
def test_ladder(student, rng):
    """greedy, ragged: every row token for token as the naive loop alone"""
    prompts = ragged(rng, [7, 2, 13, 5])
    got = generated(student, student.model(TINY, dtype=torch.float64), prompts, max_new_tokens=8, temperature=0.0)
    equal(got, greedy(tiny(torch.float64), prompts, 8), cause=f"{ALONE} {POSITIONS} {MASK} {LAST}")


@checks("generate_batch", weight=2)
def test_rows_end_each_for_itself(student, rng):
    """EOS ends one row and not the others"""
    prompts = ragged(rng, [3, 9, 5])
    model = tiny(torch.float64)
    free = greedy(model, prompts, 8)
    for row, step in ((0, 1), (1, 3), (2, 0)):
        eos = free[row][step]
        got = generated(student, student.model(TINY, dtype=torch.float64), prompts, max_new_tokens=8, temperature=0.0, eos_token_id=eos)
        equal(got, [cut(tokens, eos) for tokens in free], cause=EOS)


@checks("generate_batch", weight=2)
def test_ends_when_every_row_has(student, rng):
    """the work stops with the step at which the last row ends"""
    prompts, eos, want = all_end(tiny(torch.float64), rng)
    model = student.model(TINY, dtype=torch.float64)
    with student.counting() as work:
        got = generated(student, model, prompts, max_new_tokens=60, temperature=0.0, eos_token_id=eos)
    equal(got, want, cause=EOS)
    T, steps = max(map(len, prompts)), max(map(len, want))
    most = len(prompts) * (T + steps - 1)
    cause = "Remember which rows have ended, and leave the loop as soon as all have. The last token is never fed back."
    that(work.positions <= most, "too many positions", expected=f"{most} at the most", got=work.positions, cause=cause)


@checks("generate_batch")
def test_work_by_hand(student, hand):
    """3 rows, 100 slots of prompt, 5 new tokens: 312 positions"""
    case = hand["work"]
    prompts = [[5] * n for n in case["lengths"]]
    with student.counting() as work:
        got = generated(student, student.model(TINY), prompts, max_new_tokens=case["t_new"], temperature=0.0)
    equal([len(row) for row in got], [case["t_new"]] * 3, what="wrong number of new tokens", cause="Without EOS each row gets all.")
    cause = "One prefill of B * T, then B a step, and no step for the last token: B * (T + steps - 1)."
    that(work.positions <= case["positions"], "too many positions", expected=case["positions"], got=work.positions, cause=cause)


@checks("generate_batch")
def test_limits_of_a_batch(student, rng):
    """max_new_tokens 0 and 1; no prompt; an empty prompt"""
    prompts = ragged(rng, [3, 6])
    model = student.model(TINY, dtype=torch.float64)
    for eos in (None, 0):
        got = generated(student, model, prompts, max_new_tokens=0, temperature=0.0, eos_token_id=eos)
        equal(got, [[], []], cause="No token was asked for: an empty list for each prompt.")
    got = generated(student, model, prompts, max_new_tokens=1, temperature=0.0)
    equal(got, greedy(tiny(torch.float64), prompts, 1), cause="The prefill's logits give the first new token.")
    for wrong in ([], [[1], []]):
        raises(ValueError, lambda p=wrong: student.generate_batch(model, p, max_new_tokens=2), cause="left_pad refuses it; let it.")


@checks("generate_batch")
def test_eos_and_pads_in_prompts(student, rng):
    """EOS in a prompt is no end, and any id may be the pad"""
    model = tiny(torch.float64)
    first, second, third = ragged(rng, [4, 9, 2])
    (path,) = greedy(model, [first], 5)
    eos = path[2]
    prompts = [first, [*second[:4], eos, *second[4:]], [eos, *third]]
    want = [cut(row, eos) for row in greedy(model, prompts, 5)]
    for pad_id in (0, eos, first[1]):
        got = generated(
            student, student.model(TINY, dtype=torch.float64), prompts, max_new_tokens=5, temperature=0.0, eos_token_id=eos, pad_id=pad_id
        )
        equal(got, want, what=f"wrong tokens with pad_id {pad_id}", cause="Only an EOS that the loop emits ends a row. Pads go by num_pad.")


@checks("generate_batch")
def test_draws_from_its_generator(student):
    """draws from the generator that is given, and from nothing else; greedy draws nothing"""
    # Two unrelated runs of 60 tokens over 8 equal ones agree with probability 2 ** -180.
    model = uniform(student).there
    prompts, options = [[1, 2], [3], [4, 5, 6]], {"max_new_tokens": 20}
    first = generated(student, model, prompts, generator=student.generator(5), _rng_unchanged=True, **options)
    again = generated(student, model, prompts, generator=student.generator(5), **options)
    equal(again, first, what="two generators in the same state gave different tokens", cause="Pass `generator=generator` on.")
    other = generated(student, model, prompts, generator=student.generator(6), **options)
    that(other != first, "another seed gave the same tokens", cause="Pass the generator on, and never seed it.")
    that(first[0] != first[1], "two rows drew the same 20 tokens", cause="Each row draws for itself.")
    loose = [generated(student, model, prompts, **options) for _ in range(2)]
    that(loose[0] != loose[1], "two runs without a generator gave the same tokens", cause="Then torch's global state serves, unseeded.")
    generator = student.generator(5)
    before = generator.get_state()
    generated(student, model, prompts, temperature=0.0, generator=generator, _rng_unchanged=True, **options)
    equal(generator.get_state(), before, what="greedy moved the generator", cause="Temperature 0 draws nothing.")


@checks("generate_batch")
def test_dtype(student):
    """dtype: a model whose answer depends on its precision"""
    small, tokens = by_precision(student)
    for dtype, want in tokens.items():
        got = generated(student, small.there, [[1, 2], [3]], max_new_tokens=2, temperature=0.0, dtype=dtype)
        cause = "Convert the model with model.to(device=..., dtype=...), and give the cache model.dtype. None is the model's own."
        equal(got, [[want, want]] * 2, what=f"wrong tokens with dtype={dtype}", cause=cause)


ROW_BY_ROW = """
_batch = generate_batch

def generate_batch(model, prompts, **options):
    return [_batch(model, [prompt], **options)[0] for prompt in prompts]
"""


@checks("generate_batch", timing=True)
def test_sixteen_rows_at_once(race):
    """sixteen rows together against one after the other"""
    prompts = ragged(torch.Generator().manual_seed(7), [16, 9, 13, 4] * 4)

    def call(s):
        return s.generate_batch(s.model(TINY, dtype=torch.float64), prompts, max_new_tokens=12, temperature=0.0)

    race.against(ROW_BY_ROW, call, cause="One pass a step for all rows: the weights are read once, whatever B is.")


# ---- static_decode -------------------------------------------------------------------------------------------------


@checks("static_decode", weight=2)
def test_static_steps(student, rng):
    """three steps with fixed shapes, each row as if alone"""
    slots = Slots(rng, [6, 2, 9], room=5)
    for _ in range(3):
        got = slots.step(student, rng)
        close(got, alone(tiny(), slots.prompts), atol=1e-4, cause=f"{POSITIONS} {MASK} Slots after `position` are masked.")


@checks("static_decode", weight=2)
def test_one_slot_is_written(student, rng):
    """keys and values go into slot `position`, in place, and nowhere else"""
    slots = Slots(rng, [4, 7], room=3)
    before, position = (slots.keys.clone(), slots.values.clone()), slots.filled
    got = slots.step(student, rng)
    close(got, alone(tiny(), slots.prompts), atol=1e-4, cause=f"{POSITIONS} {MASK}")
    want = slots.due()
    for name, old, new, right in zip(("keys", "values"), before, (slots.keys, slots.values), want, strict=True):
        others = [i for i in range(new.shape[3]) if i != position]
        equal(new[..., others, :], old[..., others, :], what=f"a slot of {name} other than {position} was changed", cause=SLOT)
        close(new[..., position, :], right, atol=1e-4, what=f"wrong {name} in slot {position}", cause=SLOT)


@checks("static_decode")
def test_other_slots_do_not_matter(student, rng):
    """what lies in the pads' slots and after `position` makes no difference"""
    slots = Slots(rng, [3, 8], room=4, garbage=20_000.0)
    for _ in range(2):
        got = slots.step(student, rng)
        close(got, alone(tiny(), slots.prompts), atol=1e-4, cause=f"{MASK} All slots are read: what is not there yet must be masked.")


@checks("static_decode")
def test_position_stays_a_tensor(student, rng):
    """no value of a tensor is asked for on the way"""
    slots = Slots(rng, [5, 3], room=2)
    with student.counting() as work:
        got = slots.step(student, rng)
    close(got, alone(tiny(), slots.prompts), atol=1e-4, cause=f"{POSITIONS} {MASK}")
    cause = "int(position), .item() or an `if` on a tensor make Python wait for the device. Compare and index with tensors."
    equal(work.waits, 0, what="values that Python asked a tensor for", cause=cause)


# ---- capture_decode ------------------------------------------------------------------------------------------------


@checks("capture_decode", weight=2)
def test_captured_steps(student, rng):
    """step after step, each row as if alone"""
    slots = Slots(rng, [6, 1, 4], room=3)
    step = student.capture_decode(student.model(TINY), slots.num_pad, slots.filled, slots.keys, slots.values)
    for _ in range(3):
        ids = slots.grow(rng)
        got = step(ids)
        close(got, alone(tiny(), slots.prompts), atol=1e-4, cause="Each step writes into the slot after the last one's.")


@checks("capture_decode")
def test_no_slot_left(student, rng):
    """the step after the last slot is refused"""
    slots = Slots(rng, [3, 2], room=2)
    step = student.capture_decode(student.model(TINY), slots.num_pad, slots.filled, slots.keys, slots.values)
    for _ in range(2):
        ids = slots.grow(rng)
        close(step(ids), alone(tiny(), slots.prompts), atol=1e-4, cause="Every slot can be used, the last one too.")
    raises(ValueError, lambda: step(ids), cause="Count the slots in Python, and look before you write.")


@checks("capture_decode")
def test_two_captures(student, rng):
    """two captured steps side by side do not disturb each other"""
    both = [Slots(rng, lengths, room=2) for lengths in ([2, 5], [4, 3, 1])]
    steps = [student.capture_decode(student.model(TINY), s.num_pad, s.filled, s.keys, s.values) for s in both]
    for _ in range(2):
        for slots, step in zip(both, steps, strict=True):
            got = step(slots.grow(rng))
            close(got, alone(tiny(), slots.prompts), atol=1e-4, cause="What a step remembers belongs to it alone.")


@checks("capture_decode", weight=2, gpu=True)
def test_graph_is_replayed(student, rng):
    """on a GPU: a graph is replayed, nothing waits, and old results stay"""
    slots = Slots(rng, [6, 1, 4], room=8)
    given = [slots.num_pad.cuda(), slots.filled, slots.keys.cuda(), slots.values.cuda()]
    step = student.capture_decode(student.model(TINY, device="cuda"), *given)
    fed, want = [], []
    for _ in range(8):
        fed.append(slots.grow(rng).cuda())
        want.append(alone(tiny(), slots.prompts))
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        with student.counting() as work:
            got = [step(ids) for ids in fed]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    close(torch.stack(got).cpu(), torch.stack(want), atol=1e-3, cause="Set the position back after the recording, and give out a copy.")
    equal(work.flops, 0, what="FLOPs that torch started one by one", cause="Record static_decode with torch.cuda.graph and only replay.")
