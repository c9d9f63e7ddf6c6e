"""Parsing in several threads: CPython's parser has one count of its depth for all of them."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.base.parsing import parse


def test_it_is_pythons_parser():
    assert ast.dump(parse("x = [1]\n")) == ast.dump(ast.parse("x = [1]\n"))
    with pytest.raises(SyntaxError):
        parse("x = [")


def test_eight_threads_parse_deep_code_at_once(monkeypatch):
    inside, most = 0, 0

    def stock(source, real=ast.parse):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        try:
            return real(source)
        finally:
            inside -= 1

    monkeypatch.setattr(ast, "parse", stock)
    sources = ["x = " + "[" * depth + "]" * depth for depth in range(10, 90)] * 20
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(parse, sources))) == len(sources)
    assert most == 1
