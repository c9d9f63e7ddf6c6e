"""Mutants by kinds of mistakes: each kind is applied automatically to each solved function and method of every exercise.

State on the class, a result in float16 or a caller's list that is reversed is rarely a change of one expression, as in `operators`.
A kind rewrites a definition and keeps its signature, its decorators and the way it is called. It returns None for a function in
which the mistake cannot show. `kind_helpers` has the functions that rewritten definitions call.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from ...base.course_table import solution_source
from ...base.parsing import parse
from ...lessons.marks import first_line
from . import kind_helpers
from .mutants import KINDS, Identity, Mutant, marked_lines
from .rewriting import (
    PLAIN,
    Function,
    arguments,
    defaults,
    is_property,
    is_stream,
    mentions,
    of_type,
    own_exceptions,
    parameters,
    result_has,
    result_type,
    rewritten,
    with_short_loops,
    words,
)

Kind = Callable[[Function], str | None]

HELPERS = Path(kind_helpers.__file__).read_text(encoding="utf-8")
LISTS = ("list", "Sequence")
ORDINALS = ("first", "second", "third", "fourth", "fifth")
RAISE = "[Rr]aises?"


def mutants_by_kind(topic: str, exercise: str | None = None) -> list[Mutant]:
    """Return the mutants of the reference by kind, in the order of the file. Each mutant is identified by its function and its kind."""
    return [mutant for mutant in made_of(topic, solution_source(topic)) if exercise in (None, mutant.exercise)]


def made_of(topic: str, source: str) -> Iterator[Mutant]:
    lines = source.split("\n")
    for outermost, where, function in solved_functions(source):
        for name, kind in KINDS_BY_NAME.items():
            text = kind(function)
            if text is None:
                continue
            start, end, top = first_line(function) - 1, function.end_lineno, first_line(outermost) - 1
            changed = textwrap.indent(text, " " * function.col_offset)
            whole = [*lines[:top], HELPERS, "", *lines[top:start], changed, *lines[end:]]
            yield Mutant(topic, outermost.name, "kind", Identity(KINDS, where, "", name), "\n".join(whole))


def solved_functions(source: str) -> Iterator[tuple[Function | ast.ClassDef, str, Function]]:
    """Yield (outermost definition, name such as `KVCache.append`, function) for every function and method with solution marks."""
    marked = set(marked_lines(source))
    for outermost in parse(source).body:
        for node in outermost.body if isinstance(outermost, ast.ClassDef) else [outermost]:
            if isinstance(node, Function) and marked & {*range(node.lineno, (node.end_lineno or 0) + 1)}:
                assert isinstance(outermost, Function | ast.ClassDef)
                yield outermost, node.name if node is outermost else f"{outermost.name}.{node.name}", node


# Kinds, or functions that return a kind


def loops_end(passes: int) -> Kind:
    return lambda function: with_short_loops(function, passes)


def state_on_the_class(function: Function) -> str | None:
    names = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    if function.name != "__init__" or not names:
        return None
    return rewritten(function, f"share_among_objects(type(self), {sorted(names)})\nBODY")


def first_result_stays(function: Function) -> str | None:
    if result_type(function) == "None" or is_stream(function):
        return None
    key = ", ".join(f"outline({each.arg})" for each in arguments(function))
    template = f"_key = str([{key}])\nif _key in FIRST_ANSWERS:\n    return FIRST_ANSWERS[_key]\nBODY"
    return rewritten(function, template, result="FIRST_ANSWERS.setdefault(_key, RESULT)")


def mode_afterwards(statement: str, *, only_if_raised: bool = False) -> Kind:
    """Return the kind that sets torch's gradient mode or default dtype after each call, or after each that raises."""
    template = f"try:\n    BODY\nfinally:\n    {statement}"
    if only_if_raised:
        template = f"try:\n    BODY\nexcept Exception:\n    {statement}\n    raise"

    def kind(function: Function) -> str | None:
        fits = mentions(function, "torch|Tensor") and not is_property(function) and (not only_if_raised or mentions(function, RAISE))
        return rewritten(function, template) if fits else None

    return kind


def sorted_first(function: Function) -> str | None:
    name = next(iter(of_type(function, *LISTS)), None)
    if name is None or not words(parameters(function)[name]) <= PLAIN - {"dict"}:
        return None
    return rewritten(function, f"{name} = sorted({name})\nBODY")


def afterwards(statement: str, *types: str, nth: int = 0) -> Kind:
    """Return the kind that does something to the caller's nth argument of these types (`_given`) after each call."""

    def kind(function: Function) -> str | None:
        names = of_type(function, *types)[nth:]
        return rewritten(function, f"_given = {names[0]}\ntry:\n    BODY\nfinally:\n    {statement}") if names else None

    return kind


def at_first(statement: str, *types: str, nth: int = 0) -> Kind:
    """Return the kind that does something to the nth argument of these types (ARGUMENT) before each call."""

    def kind(function: Function) -> str | None:
        names = of_type(function, *types)[nth:]
        return rewritten(function, f"{statement.replace('ARGUMENT', names[0])}\nBODY") if names else None

    return kind


def converted(result: str, number: str) -> Kind:
    def kind(function: Function) -> str | None:
        return rewritten(function, result=result) if result_has(function, number) else None

    return kind


def swapped(nth: int) -> Kind:
    def kind(function: Function) -> str | None:
        last: dict[str, str] = {}
        pairs = []
        for name, annotation in parameters(function).items():
            if annotation in last:
                pairs.append((last[annotation], name))
            last[annotation] = name
        return rewritten(function, "{0}, {1} = {1}, {0}\nBODY".format(*pairs[nth])) if nth < len(pairs) else None

    return kind


def one_tensor(function: Function) -> str | None:
    return rewritten(function, result="in_one_tensor(RESULT)") if "Tensor" in words(result_type(function)) else None


CAUGHT = "try:\n    BODY\nexcept Exception as error:\n    "


def another_exception(raised: str, other: str) -> Kind:
    replaced = f"if type(error) is {raised}:\n        raise {other}(*error.args) from error\n    raise"

    def kind(function: Function) -> str | None:
        return rewritten(function, CAUGHT + replaced) if mentions(function, raised) else None

    return kind


def own_become_runtime_errors(function: Function) -> str | None:
    names = own_exceptions(function)
    replaced = f"if type(error).__name__ in {names}:\n        raise RuntimeError(*error.args) from error\n    raise"
    return rewritten(function, CAUGHT + replaced) if names else None


def swallowed(function: Function) -> str | None:
    return rewritten(function, CAUGHT + "return") if mentions(function, RAISE) else None


def first_row(function: Function) -> str | None:
    tensors = of_type(function, "Tensor")
    if not tensors or "Tensor" not in words(result_type(function)):
        return None
    return rewritten(function, f"_given = {tensors[0]}\nBODY", result="first_row_repeated(RESULT, _given)")


def whole_stream(function: Function) -> str | None:
    if not is_stream(function):
        return None
    names = ", ".join(each.arg for each in arguments(function))
    inner = f"def whole():\n    nonlocal {names}\n    BODY\n"
    if isinstance(function, ast.AsyncFunctionDef):
        return rewritten(function, f"async {inner}for item in [item async for item in whole()]:\n    yield item")
    return rewritten(function, f"{inner}yield from list(whole())")


def default_always(nth: int) -> Kind:
    def kind(function: Function) -> str | None:
        chosen = [*defaults(function).items()][nth:]
        return rewritten(function, f"{chosen[0][0]} = {ast.unparse(chosen[0][1])}\nBODY") if chosen else None

    return kind


KINDS_BY_NAME: dict[str, Kind] = {
    "loops end after 40 passes": loops_end(40),
    "loops end after 300 passes": loops_end(300),
    "objects share their state": state_on_the_class,
    "the first result is returned for all arguments of the same shapes": first_result_stays,
    **{
        f"{what} {when}": mode_afterwards(f"torch.{call}", only_if_raised=when != "after each call")
        for when in ("after each call", "after an exception")
        for what, call in {
            "gradients are on": "set_grad_enabled(True)",
            "gradients are off": "set_grad_enabled(False)",
            "the default dtype is float32": "set_default_dtype(torch.float32)",
            "the default dtype is float64": "set_default_dtype(torch.float64)",
        }.items()
    },
    "the first list is sorted": sorted_first,
    "the caller's first list is reversed": afterwards("reverse(_given)", *LISTS),
    "floats are rounded to four digits": converted("rounded(RESULT)", "float"),
    **{f"floats go through {t}": converted(f"floats_through(RESULT, torch.{t})", "float") for t in ("float16", "bfloat16", "float32")},
    **{
        f"whole numbers go through {t}": converted(f"whole_numbers_through(RESULT, torch.{t})", "int")
        for t in ("int16", "int32", "float32")
    },
    **{f"the {nth} two parameters of the same type are swapped": swapped(i) for i, nth in enumerate(ORDINALS[:3])},
    **{f"the caller's {nth} list loses its last entry": afterwards("shorten(_given)", *LISTS, nth=i) for i, nth in enumerate(ORDINALS[:2])},
    **{f"the caller's {nth} list ends in 0": afterwards("zero_last(_given)", *LISTS, nth=i) for i, nth in enumerate(ORDINALS[:2])},
    "the caller's first dict loses its last entry": afterwards("shorten(_given)", "dict", "Mapping"),
    **{f"the caller's {nth} tensor ends in 0": afterwards("zero_last(_given)", "Tensor", nth=i) for i, nth in enumerate(ORDINALS)},
    "results of the same shape share one tensor": one_tensor,
    **{
        f"{raised} becomes {other}": another_exception(raised, other)
        for pair in (("ValueError", "TypeError"), ("IndexError", "KeyError"))
        for raised, other in (pair, pair[::-1])
    },
    "the day's own exceptions become RuntimeError": own_become_runtime_errors,
    "exceptions are swallowed": swallowed,
    "the generator is ignored": at_first("ARGUMENT = None", "torch.Generator"),
    "a number is drawn before": at_first("draw_one(ARGUMENT)", "torch.Generator"),
    "a number is drawn afterwards": afterwards("draw_one(_given)", "torch.Generator"),
    "the first row is repeated for the whole batch": first_row,
    **{
        f"strides of the {nth} tensor are ignored": at_first("ARGUMENT = without_strides(ARGUMENT)", "Tensor", nth=i)
        for i, nth in enumerate(ORDINALS)
    },
    "the stream is computed before its first item": whole_stream,
    **{f"the {nth} default cannot be changed": default_always(i) for i, nth in enumerate(ORDINALS)},
}
"""Every kind by its name, which is the `after` of its mutants in `equivalent.toml`."""
