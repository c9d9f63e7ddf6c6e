# Tests of positions_and_mask, as students may write them, with what each is due: so many of the wrong versions rejected, or what is said.


# %% right_entry_by_entry
# RIGHT: all: every entry in words, for chunks early and late
def test_positions_and_mask(x):
    def may_see(query, key, pads):
        return key == query or pads <= key <= query

    for pads, start, q_len in [([1, 3, 0], 0, 4), ([1, 3, 0], 2, 4), ([2, 2, 0], 2, 4), ([1, 3, 0], 5, 1), ([0], 0, 1), ([900, 3], 1099, 2)]:
        positions, mask = x(torch.tensor(pads), start, q_len)
        total = start + q_len
        assert positions.dtype == torch.int64 and mask.dtype == torch.bool
        assert mask.shape == (len(pads), 1, q_len, total)
        assert positions.tolist() == [[max(0, slot - n) for slot in range(start, total)] for n in pads]
        due = [[[[may_see(query, key, n) for key in range(total)] for query in range(start, total)]] for n in pads]
        assert mask.tolist() == due, (pads, start, q_len)


# %% right_in_tensors
# RIGHT: all: compared as tensors, with random pads from a seed of their own
def test_positions_and_mask(x):
    luck = torch.Generator().manual_seed(3)
    for total, q_len in [(6, 6), (6, 3), (6, 3), (7, 1), (1500, 2)]:
        for _ in range(3):
            pads = torch.randint(0, total, (4,), generator=luck)
            positions, mask = x(pads, total - q_len, q_len)
            assert positions.dtype is torch.int64 and mask.dtype is torch.bool and mask.shape[1] == 1
            slots = torch.arange(total)
            for row, n in enumerate(pads.tolist()):
                assert torch.equal(positions[row], (slots - n).clamp(min=0)[total - q_len :])
                seen = torch.ones(total, total).tril().bool()
                seen[:, :n] = False
                seen |= torch.eye(total).bool()
                assert torch.equal(mask[row, 0], seen[total - q_len :])


# %% wrong_shapes
# WRONG: 2 of 22: shapes and dtypes
def test_positions_and_mask(x):
    positions, mask = x(torch.tensor([1, 3, 0]), 0, 4)
    assert positions.shape == (3, 4) and positions.dtype == torch.int64
    assert mask.shape == (3, 1, 4, 4) and mask.dtype == torch.bool


# %% wrong_no_pads
# WRONG: 7 of 22: two prompts of equal length
def test_positions_and_mask(x):
    positions, mask = x(torch.tensor([0, 0]), 0, 3)
    assert positions.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert mask[:, 0].tolist() == 2 * [[[True, False, False], [True, True, False], [True, True, True]]]


# %% wrong_decode_only
# WRONG: 13 of 22: the decode step of the text alone
def test_positions_and_mask(x):
    positions, mask = x(torch.tensor([1, 3, 0]), 5, 1)
    assert positions.tolist() == [[4], [2], [5]]
    assert mask[1, 0, 0].tolist() == [False, False, False, True, True, True]


# %% wrong_pads_see_nothing
# WRONG: says "does not accept a correct version, so its score is 0%": a pad must see itself
def test_positions_and_mask(x):
    _, mask = x(torch.tensor([2]), 0, 3)
    assert mask[0, 0].sum() == 1


# %% wrong_on_a_mask_without_heads
# WRONG: says "does not accept a correct version": the axis of the heads forgotten
def test_positions_and_mask(x):
    _, mask = x(torch.tensor([0]), 0, 2)
    assert mask.shape == (1, 2, 2)


# %% wrong_asserts_nothing
# WRONG: 0 of 22: it calls and looks at nothing
def test_positions_and_mask(x):
    x(torch.tensor([1, 0]), 0, 3)


# %% wrong_returns
# WRONG: says "The test returns a value, which is ignored": returns the verdict instead of raising
def test_positions_and_mask(x):
    return x(torch.tensor([1, 0]), 0, 3)[0].tolist() == [[0, 0, 1], [0, 1, 2]]


# %% wrong_not_written
# WRONG: says "test_positions_and_mask: not written yet": the stub
def test_positions_and_mask(x):
    raise NotImplementedError("test_positions_and_mask")
