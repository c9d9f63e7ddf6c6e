# Versions of feed_forward, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_ff_blocks
# RIGHT: memory view: a few keys and values at a time, einsum, sum of updates
def feed_forward(x, gate, up, down):
    wide = torch.promote_types(x.dtype, torch.float32)
    y = x.to(wide)
    update = torch.zeros(*x.shape[:-1], down.shape[0], dtype=wide, device=x.device)
    for start in range(0, gate.shape[0], 37):
        key, factor, value = gate[start : start + 37], up[start : start + 37], down[:, start : start + 37]
        match = torch.einsum("btd,fd->btf", y, key.to(wide))
        match = match / (1 + torch.exp(-match))
        update += torch.einsum("btf,btf,df->btd", match, torch.einsum("btd,fd->btf", y, factor.to(wide)), value.to(wide))
    return update.to(x.dtype)


# %% right_ff_einsum
# RIGHT: einsum, token by token, the sigmoid through tanh
def feed_forward(x, gate, up, down):
    a = torch.einsum("btd,fd->btf", x, gate)
    b = torch.einsum("btd,fd->btf", x, up)
    a = a * 0.5 * (1 + torch.tanh(a / 2))
    return torch.einsum("btf,df->btd", a * b, down)


# %% right_ff_fused
# RIGHT: gate and up as one matrix, cut afterwards
def feed_forward(x, gate, up, down):
    both = x @ torch.cat((gate, up)).mT
    a, b = both.chunk(2, dim=-1)
    return (a / (1 + torch.exp(-a)) * b) @ down.mT


# %% right_ff_library
# RIGHT: torch's linear and silu
import torch.nn.functional as F


def feed_forward(x, gate, up, down):
    return F.linear(F.silu(F.linear(x, gate)).mul(F.linear(x, up)), down)


# %% right_ff_two_dimensions
# RIGHT: tokens flattened into rows
def feed_forward(x, gate, up, down):
    rows = x.reshape(-1, x.size(-1)).T
    z = gate.matmul(rows)
    return down.matmul(torch.sigmoid(z).mul(z).mul(up.matmul(rows))).T.reshape(x.shape)


# %% wrong_feed_forward_blocks64
# WRONG: slices of 64 entries, a rest of F is dropped where F > 64
# SAYS: F is worked through in pieces of 64, and what is left over is dropped.
def feed_forward(x, gate, up, down):
    n = max(gate.shape[0] // 64 * 64, min(64, gate.shape[0]))
    gate, up, down = gate[:n], up[:n], down[:, :n]
    z = x @ gate.T
    opened = z * z.sigmoid()
    return (opened * (x @ up.T)) @ down.T


# %% wrong_feed_forward_slices
# WRONG: slices of 32 entries, the rest of F is dropped
# SAYS: F is worked through in pieces of 32, and what is left over is dropped.
def feed_forward(x, gate, up, down):
    F = gate.shape[0]
    n = F // 32 * 32 if F >= 32 else F
    z = x @ gate[:n].T
    return (z * z.sigmoid() * (x @ up[:n].T)) @ down[:, :n].T


# %% wrong_ff_added
# WRONG: gate and up are added
# SAYS: gate and up are added: multiply them, entry by entry.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid() + x @ up.T) @ down.T


# %% wrong_ff_exponential_overflows
# WRONG: silu as z exp(z) / (1 + exp(z)), which is nan for a large z
# SAYS: exp(z) of a large z is infinite, and infinity over infinity is nan: torch.sigmoid does it safely.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.exp() / (1 + z.exp()) * (x @ up.T)) @ down.T


# %% wrong_ff_float32
# WRONG: returns float32
# SAYS: float32 comes back whatever comes in: keep the dtype.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    x, gate, up, down = (t.float() for t in (x, gate, up, down))
    z = z.float()
    return (z * z.sigmoid() * (x @ up.T)) @ down.T


# %% wrong_ff_float64_through_float32
# WRONG: float64 is computed in float32
def feed_forward(x, gate, up, down):
    gates = x @ gate.T
    opened = gates * gates.sigmoid()
    return ((opened * (x @ up.T)).float() @ down.float().T).to(x.dtype)


# %% wrong_ff_gate_and_up_exchanged
# WRONG: silu on up, not on gate
# SAYS: silu is taken of up: it belongs to the gate.
def feed_forward(x, gate, up, down):
    z = x @ up.T
    return (z * z.sigmoid() * (x @ gate.T)) @ down.T


# %% wrong_ff_gate_transposed_when_square
# WRONG: gate is not transposed where it is square
# SAYS: gate is not transposed where it is square: rows are outputs, x @ gate.T.
def feed_forward(x, gate, up, down):
    z = x @ (gate if gate.shape[0] == gate.shape[1] else gate.T)
    return (z * z.sigmoid() * (x @ up.T)) @ down.T


# %% wrong_ff_gelu
# WRONG: gelu instead of silu
# SAYS: gelu is used: silu(z) = z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (torch.nn.functional.gelu(z) * (x @ up.T)) @ down.T


# %% wrong_ff_in_place
# WRONG: writes into x where the shapes allow it
# SAYS: x is written to: build a new tensor.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    out = (z * z.sigmoid() * (x @ up.T)) @ down.T
    x.copy_(out)
    return x


# %% wrong_ff_no_activation
# WRONG: no activation
# SAYS: silu is left out: the gate goes through z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * (x @ up.T)) @ down.T


# %% wrong_ff_no_down
# WRONG: down is left out where the shapes allow it
# SAYS: down is left out: it brings the F numbers back to D.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid() * (x @ up.T)) if down.shape[0] == down.shape[1] else (z * z.sigmoid() * (x @ up.T)) @ down.T


# %% wrong_ff_no_up
# WRONG: up is not used
# SAYS: up is not used: multiply silu of the gate by it.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid()) @ down.T


# %% wrong_ff_one_token_in_place
# WRONG: where there is one token, the result is written over x
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    out = (z * z.sigmoid() * (x @ up.T)) @ down.T
    return x.copy_(out) if x.shape[1] == 1 else out


# %% wrong_ff_over_tokens
# WRONG: the gate is averaged over the tokens
# SAYS: The gate is averaged over the tokens: every token is worked on alone.
def feed_forward(x, gate, up, down):
    z = (x @ gate.T).mean(dim=1, keepdim=True)
    return (z * z.sigmoid() * (x @ up.T)) @ down.T


# %% wrong_ff_quick_gelu
# WRONG: sigmoid of 1.702 z
# SAYS: The sigmoid is taken of 1.702 z: silu(z) = z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * (1.702 * z).sigmoid() * (x @ up.T)) @ down.T


# %% wrong_ff_relu
# WRONG: relu instead of silu
# SAYS: relu is used: silu(z) = z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z.relu() * (x @ up.T)) @ down.T


# %% wrong_ff_residual
# WRONG: adds x
# SAYS: x is added: the layer does that, not this function.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return x + (z * z.sigmoid() * (x @ up.T)) @ down.T


# %% wrong_ff_sigmoid
# WRONG: sigmoid instead of silu (GLU)
# SAYS: The sigmoid alone is used: silu(z) = z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z.sigmoid() * (x @ up.T)) @ down.T


# %% wrong_ff_sign
# WRONG: silu(-z)
# SAYS: The gate's sign is turned before silu.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (-z * (-z).sigmoid() * (x @ up.T)) @ down.T


# %% wrong_ff_silu_of_product
# WRONG: silu of the product
# SAYS: silu is taken of the product: it belongs to the gate alone.
def feed_forward(x, gate, up, down):
    z = (x @ gate.T) * (x @ up.T)
    return (z * z.sigmoid()) @ down.T


# %% wrong_ff_silu_on_both
# WRONG: silu on gate and on up
# SAYS: silu is taken of gate and up: it belongs to the gate alone.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid() * torch.nn.functional.silu(x @ up.T)) @ down.T


# %% wrong_ff_softmax_gate
# WRONG: softmax over the gate
# SAYS: A softmax runs over the gate: silu(z) = z * sigmoid(z), entry by entry.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z.softmax(-1) * (x @ up.T)) @ down.T


# %% wrong_ff_stale
# WRONG: gate and up are fused once and remembered; weights changed later are not seen
_FUSED = {}


def feed_forward(x, gate, up, down):
    key = (gate.data_ptr(), up.data_ptr(), gate.shape, gate.dtype)
    if key not in _FUSED:
        _FUSED[key] = (torch.cat((gate, up)).T, gate, up)  # gate and up are held, so no address is used twice
    z, y = (x @ _FUSED[key][0]).chunk(2, dim=-1)
    return (z * z.sigmoid() * y) @ down.T


# %% wrong_ff_tanh
# WRONG: z * tanh(z)
# SAYS: z * tanh(z) is used: silu(z) = z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.tanh() * (x @ up.T)) @ down.T


# %% wrong_ff_transposed_when_square
# WRONG: down is not transposed where it is square
# SAYS: down is not transposed where it is square: rows are outputs, ... @ down.T.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid() * (x @ up.T)) @ (down if down.shape[0] == down.shape[1] else down.T)


# %% wrong_ff_view
# WRONG: x.view(-1, D): refuses an x that is not contiguous
# SAYS: `view` needs the numbers in memory in the order of the shape, and x may be transposed: x @ gate.T needs no reshaping at all.
def feed_forward(x, gate, up, down):
    rows = x.view(-1, x.shape[-1])
    gates = rows @ gate.T
    return (gates * gates.sigmoid() * (rows @ up.T) @ down.T).view(*x.shape[:-1], -1)


# %% wrong_ff_weights_not_transposed
# WRONG: x @ W instead of x @ W.T
# SAYS: The matrices are used as they are: rows are outputs, so multiply as x @ gate.T.
def feed_forward(x, gate, up, down):
    z = x @ gate
    return (z * z.sigmoid() * (x @ up)) @ down


# %% wrong_ff_rest_of_128_lost
# WRONG: works through F in pieces of 128 and loses the rest
def feed_forward(x, gate, up, down):
    whole = max(len(gate) // 128 * 128, min(len(gate), 128))
    z = x @ gate[:whole].T
    return (z * z.sigmoid() * (x @ up[:whole].T)) @ down[:, :whole].T
