"""Functions rewritten by templates, and facts about functions, for `kinds`.

A template has the name BODY where the function's statements go, or RESULT where a result goes.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re

Function = ast.FunctionDef | ast.AsyncFunctionDef

PLAIN = {"list", "tuple", "dict", "Sequence", "Iterator", "float", "int", "None", "str", "bytes", "bool"}
WITHOUT_NUMBERS = {"Callable", "PagedSequence", "Request", "range"}
"""Types of results that stay the same objects, whatever becomes of numbers."""


class Fill(ast.NodeTransformer):
    """A template's BODY replaced by statements."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.body = body

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | list[ast.stmt]:
        return self.body if isinstance(node.value, ast.Name) and node.value.id == "BODY" else node


class Results(ast.NodeTransformer):
    """A rewriting of what a function returns or yields, by a template. Functions inside the function stay as they are."""

    def __init__(self, template: str) -> None:
        self.before, self.after = template.split("RESULT")

    def around(self, value: ast.expr) -> ast.expr:
        return ast.parse(f"{self.before}{ast.unparse(value)}{self.after}", mode="eval").body

    def visit_Return(self, node: ast.Return) -> ast.Return:
        return ast.Return(self.around(node.value)) if node.value is not None else node

    def visit_Yield(self, node: ast.Yield) -> ast.Yield:
        return ast.Yield(self.around(node.value)) if node.value is not None else node

    def inner(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = inner


def rewritten(function: Function, template: str = "BODY", *, result: str | None = None) -> str:
    """Return the source of a function with its statements and its results put into templates."""
    new = copy.deepcopy(function)
    described = ast.get_docstring(new) is not None
    body = new.body[described:]
    if result is not None:
        body = [Results(result).visit(statement) for statement in body]
    filled = Fill(body).visit(ast.parse(template))
    new.body = [*new.body[:described], *filled.body]
    return ast.unparse(ast.fix_missing_locations(new))


class Shortened(ast.NodeTransformer):
    """Loops and comprehensions that end after a number of passes."""

    def __init__(self, passes: int) -> None:
        self.passes, self.found = passes, False

    def limited(self, iterable: ast.expr) -> ast.expr:
        self.found = True
        return ast.parse(f"first_passes({ast.unparse(iterable)}, {self.passes})", mode="eval").body

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.iter = self.limited(node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = self.limited(node.iter)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        if node.orelse:
            return node
        self.found = True
        loop = ast.parse(f"for _pass in range({self.passes}):\n    if not ({ast.unparse(node.test)}):\n        break\n    BODY").body[0]
        return Fill(node.body).visit(loop)


def with_short_loops(function: Function, passes: int) -> str | None:
    """Return the source of a function whose loops end after a number of passes, or None if it has no loop."""
    shortened = Shortened(passes)
    new = shortened.visit(copy.deepcopy(function))
    return ast.unparse(ast.fix_missing_locations(new)) if shortened.found else None


# Facts about a function


def arguments(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def parameters(function: Function) -> dict[str, str]:
    """Return the annotation of each parameter but `self`."""
    return {each.arg: ast.unparse(each.annotation) for each in arguments(function) if each.annotation is not None}


def of_type(function: Function, *types: str) -> list[str]:
    """Return the parameters with one of these types, such as `list` for list[int] and list[int] | None."""
    return [name for name, annotation in parameters(function).items() if re.split(r"\[| \|", annotation)[0] in types]


def defaults(function: Function) -> dict[str, ast.expr]:
    """Return the defaults that are None or a number, except the generator's, which has kinds of its own."""
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    pairs = [
        *zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    simple = {each.arg: value for each, value in pairs if isinstance(value, ast.Constant)}
    return {name: v for name, v in simple.items() if name != "generator" and (v.value is None or type(v.value) in (int, float))}


def result_type(function: Function) -> str:
    return ast.unparse(function.returns) if function.returns is not None else "None"


def result_has(function: Function, number: str) -> bool:
    """Return whether a result may have floats (`float`), or whole numbers (`int`). For tensors the docstring's part after `->` decides."""
    names = words(result_type(function))
    if names <= PLAIN:
        return number in names
    if names <= {*PLAIN, "Tensor"}:
        described = re.search(r"->(.*?)([.:;] |$)", " ".join((ast.get_docstring(function) or "").split()))
        shape = described[1] if described else ""
        whole = re.search(r"\b(u?int\d|bool)", shape) is not None
        return number in names or (whole and "int" in shape if number == "int" else not whole or "float" in shape)
    return not names & WITHOUT_NUMBERS


def is_stream(function: Function) -> bool:
    """Return whether a function yields its results."""
    return result_type(function).startswith(("Iterator", "Generator", "AsyncIterator", "AsyncGenerator")) and any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function)
    )


def is_property(function: Function) -> bool:
    return any(ast.unparse(decorator) == "property" for decorator in function.decorator_list)


def mentions(function: Function, pattern: str) -> bool:
    return re.search(rf"\b({pattern})\b", ast.unparse(function)) is not None


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def own_exceptions(function: Function) -> list[str]:
    """Return the names of the exceptions that a function or its docstring mentions and Python does not have."""
    named = set(re.findall(r"\braises? ([A-Z]\w+)", ast.unparse(function), re.IGNORECASE))
    return sorted(name for name in named if name[0].isupper() and not hasattr(builtins, name))
