"""Cells and outputs of a notebook, made and written without nbformat's checks.

nbformat validates each new cell against its JSON schema, which takes about a millisecond a cell: more than the rest of storing a
submission. Cells made here have the schema's shape, and `tests/gradebook/test_writer.py` validates whole notebooks against it.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from nbformat import NotebookNode, from_dict


def code_cell(source: str, cell_id: str | None = None, metadata: dict[str, Any] | None = None) -> NotebookNode:
    return _cell("code", source, cell_id, metadata, execution_count=None, outputs=[])


def markdown_cell(source: str, cell_id: str | None = None, metadata: dict[str, Any] | None = None) -> NotebookNode:
    return _cell("markdown", source, cell_id, metadata)


def _cell(kind: str, source: str, cell_id: str | None, metadata: dict[str, Any] | None, **more: Any) -> NotebookNode:
    """Return a cell. cell_id: drawn at random if None."""
    return from_dict({"id": cell_id or uuid.uuid4().hex[:8], "cell_type": kind, "metadata": metadata or {}, "source": source, **more})


def display(data: dict[str, str]) -> NotebookNode:
    return from_dict({"output_type": "display_data", "metadata": {}, "data": data})


def result(data: dict[str, str]) -> NotebookNode:
    """Return a cell's result output. nbgrader reads a grade cell's points from this output."""
    return from_dict({"output_type": "execute_result", "metadata": {}, "data": data, "execution_count": None})


def notebook(cells: list[NotebookNode], metadata: NotebookNode) -> NotebookNode:
    return NotebookNode(nbformat=4, nbformat_minor=5, metadata=metadata, cells=cells)


def notebook_text(nb: NotebookNode) -> str:
    """Return a notebook as nbformat writes it, but with one line for each cell instead of one for each value."""
    rest = {name: value for name, value in nb.items() if name != "cells"}
    lines = [f"{_json(name)}: {_json(value)}" for name, value in rest.items()]
    cells = ",\n".join(_json(_split(cell)) for cell in nb.cells)
    return "{\n" + "".join(f"{line},\n" for line in lines) + f'"cells": [\n{cells}\n]\n}}\n'


def _split(cell: NotebookNode) -> dict[str, Any]:
    """Return the cell with its texts as lists of lines, as in a notebook file."""
    split = {**cell, "source": cell.source.splitlines(True)}
    if cell.cell_type == "code":
        split["outputs"] = [
            {**output, "data": {kind: text.splitlines(True) for kind, text in output.data.items()}} for output in cell.outputs
        ]
    return split


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
