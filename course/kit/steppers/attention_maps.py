"""Attention maps: their queries and keys, their pictures, and a model with some heads silenced."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import linear

from .. import plots
from ..models.model import Model
from ..models.weights import LayerWeights, Weights


@torch.no_grad()
def queries_and_keys(model: Model, ids: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Return for every layer (q (B, H, T, Dh), k (B, K, T, Dh)), the outputs of its projections before any rotation.

    ids (B, T) int64.
    """
    listening = _Listening(model)
    listening(ids)
    return listening.heard


def without_heads(model: Model, heads: Iterable[tuple[int, int]]) -> Model:
    """Return the same model without the output of some heads, given as (layer, head).

    The given model is unchanged and shares all other weights with the result.
    """
    width = model.config.head_dim
    layers = [copy.copy(layer) for layer in model.weights.layers]
    for index, head in heads:
        output = layers[index].o_proj.clone()  # (D, H*Dh): the columns of a head carry what it read
        output[:, head * width : (head + 1) * width] = 0
        layers[index].o_proj = output
    weights = Weights(model.weights.embed_tokens, layers, model.weights.norm, model.weights.lm_head)
    return Model(model.config, weights, lambda: model.tokenizer)


class _Listening(Model):
    """A model that records its queries and keys."""

    def __init__(self, model: Model) -> None:
        super().__init__(model.config, model.weights, lambda: model.tokenizer)
        self.heard: list[tuple[Tensor, Tensor]] = []

    def _attention(self, layer: LayerWeights, hidden: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k = (
            linear(hidden, rows).unflatten(-1, (-1, self.config.head_dim)).transpose(1, 2)
            for rows in (layer.q_proj, layer.k_proj)
        )
        self.heard.append((q, k))
        return super()._attention(layer, hidden, cos, sin)


def draw_maps(maps: Mapping[str, Tensor], tokens: Sequence[str], *, columns: int = 2, size: float = 4.2) -> None:
    """Draw one square for each map (T, T), with its key as title. The row's token reads the column's token; dark means much.

    size: width of a square in inches.
    """
    rows = -(-len(maps) // columns)
    names = [plots.show_token(token) for token in tokens]
    _, axes = plots.figure(rows, columns, width=size * columns, height=size * rows, squeeze=False)
    with plots.style():
        for ax, (title, weights) in zip(axes.flat, maps.items(), strict=False):
            ax.imshow(weights, cmap="Blues", vmin=0, vmax=1)
            ax.set_title(title)
            ax.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
            ax.set_yticks(range(len(names)), names, fontsize=7)
            ax.tick_params(length=0)
        for ax in list(axes.flat)[len(maps) :]:
            ax.axis("off")


def draw_heads(scores: Mapping[str, Tensor], *, size: float = 2.3) -> None:
    """Draw a grid (L, H) of all heads for each key, one row for each layer. Dark means high; the highest head is marked."""
    _, axes = plots.figure(1, len(scores), width=size * len(scores), height=5.2, squeeze=False, sharey=True)
    with plots.style():
        for ax, (title, values) in zip(axes[0], scores.items(), strict=True):
            ax.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
            layer, head = best_head(values)
            ax.plot(head, layer, marker="s", markersize=11, fillstyle="none", color=plots.ORANGE)
            ax.set_title(f"{title}\nmost: {layer}.{head}, {float(values[layer, head]):.2f}", fontsize=9)
            ax.set_xticks(range(values.shape[1]))
            ax.set_xlabel("head")
        axes[0][0].set_ylabel("layer")


def best_head(values: Tensor) -> tuple[int, int]:
    """Return (layer, head) of the largest entry of (L, H)."""
    layer, head = divmod(int(values.argmax()), values.shape[1])
    return layer, head
