"""Mutation operators: mutmut's, and those that it lacks for code over tensors.

An operator takes one node of libcst's tree and yields its possible replacements.
"""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst
import torch
from mutmut.mutation.mutators import mutation_operators

Operator = Callable[[Any], Iterator[cst.CSTNode]]

ALIKE = {
    "min": ("max",), "max": ("min",), "amin": ("amax",), "amax": ("amin",), "argmin": ("argmax",), "argmax": ("argmin",),
    "any": ("all",), "all": ("any",), "floor": ("ceil",), "ceil": ("floor",), "sum": ("mean", "prod"), "mean": ("sum",),
    "zeros": ("ones",), "ones": ("zeros",), "zeros_like": ("ones_like", "empty_like"), "ones_like": ("zeros_like",),
    "log": ("log2",), "exp": ("exp2",), "sin": ("cos",), "cos": ("sin",), "tril": ("triu",), "triu": ("tril",), "sqrt": ("rsqrt",),
    "rsqrt": ("sqrt",), "eval": ("train",), "train": ("eval",), "clamp_min": ("clamp_max",), "clamp_max": ("clamp_min",),
    "startswith": ("endswith",), "endswith": ("startswith",), "append": ("extend",), "view": ("reshape",), "perf_counter": ("time",),
}  # fmt: skip
"""Names of functions that are confused with each other."""
SYMMETRIC = {"min", "max", "minimum", "maximum", "transpose", "swapaxes", "promote_types", "allclose", "isclose"}
DTYPES = {
    "float": ("half", "double"), "double": ("float",), "half": ("float",), "float32": ("float64", "bfloat16"), "float64": ("float32",),
    "int64": ("int32", "float32"), "long": ("int",), "int32": ("int64",), "bool": ("int64", "uint8"), "bfloat16": ("float32",),
}  # fmt: skip

@functools.cache
def expression(text: str) -> cst.BaseExpression:
    return cst.parse_expression(text)


def code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def parsed(*texts: str) -> Iterator[cst.BaseExpression]:
    for text in texts:
        try:
            yield expression(text)
        except cst.ParserSyntaxError:
            continue


def name_of(call: cst.Call) -> str:
    """Return the name of the called function: `sum` for both x.sum() and sum(x)."""
    match call.func:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
    return ""


# Expressions


def numbers(node: cst.Integer | cst.Float) -> Iterator[cst.BaseExpression]:
    value = node.evaluated_value
    others = (value - 1, 0, 1, 2 * value, value // 2) if isinstance(node, cst.Integer) else (0.0, 1.0, 2 * value, value / 2)
    yield from parsed(*(repr(other) if other >= 0 else f"({other!r})" for other in others))


def operands(node: cst.BinaryOperation | cst.BooleanOperation) -> Iterator[cst.BaseExpression]:
    """Yield each operand alone, and the two operands exchanged if their order matters."""
    yield node.left
    yield node.right
    if isinstance(node.operator, cst.Subtract | cst.Divide | cst.FloorDivide | cst.Modulo | cst.Power | cst.MatrixMultiply):
        yield node.with_changes(left=node.right, right=node.left)


def comparisons(node: cst.Comparison) -> Iterator[cst.BaseExpression]:
    """Yield the comparison with other operators, and a chain without its last link."""
    turned: dict[type, tuple[type, ...]] = {
        cst.LessThan: (cst.GreaterThan,), cst.GreaterThan: (cst.LessThan,), cst.LessThanEqual: (cst.GreaterThanEqual, cst.Equal),
        cst.GreaterThanEqual: (cst.LessThanEqual, cst.Equal), cst.Equal: (cst.LessThanEqual, cst.GreaterThanEqual),
        cst.NotEqual: (cst.LessThan, cst.GreaterThan),
    }  # fmt: skip
    for index, target in enumerate(node.comparisons):
        for other in turned.get(type(target.operator), ()):
            changed = [*node.comparisons]
            changed[index] = target.with_changes(operator=other())
            yield node.with_changes(comparisons=changed)
    if len(node.comparisons) > 1:
        yield node.with_changes(comparisons=node.comparisons[:-1])
        first, *rest = node.comparisons
        yield node.with_changes(left=first.comparator, comparisons=rest)


def alike(node: cst.Call) -> Iterator[cst.BaseExpression]:
    """Yield calls of similar functions."""
    for other in ALIKE.get(name_of(node), ()):
        yield renamed(node, other)


def renamed(node: cst.Call, name: str) -> cst.Call:
    if isinstance(node.func, cst.Attribute):
        return node.with_changes(func=node.func.with_changes(attr=cst.Name(name)))
    return node.with_changes(func=cst.Name(name))


def calls(node: cst.Call) -> Iterator[cst.BaseExpression]:
    """Yield the object or an argument in place of the call: x.f(y) becomes x, f(x, y) becomes x or y."""
    module = isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name) and node.func.value.value in ("torch", "math")
    if isinstance(node.func, cst.Attribute) and not module:
        yield bracketed(node.func.value)
        return
    for arg in node.args[:3]:
        if not arg.star:
            yield bracketed(arg.value)


def bracketed(node: cst.BaseExpression) -> cst.BaseExpression:
    simple = node.lpar or isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.BaseNumber | cst.BaseString)
    return node if simple else node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def arguments(node: cst.Call) -> Iterator[cst.BaseExpression]:
    """Yield calls with two neighbouring arguments exchanged, if their order matters."""
    if name_of(node) in SYMMETRIC:
        return
    for index in range(len(node.args) - 1):
        one, other = node.args[index], node.args[index + 1]
        if one.star or other.star:
            continue
        if (one.keyword is None) == (other.keyword is None):
            changed = [*node.args]
            changed[index], changed[index + 1] = one.with_changes(value=other.value), other.with_changes(value=one.value)
            yield node.with_changes(args=changed)


def in_place(node: cst.Call) -> Iterator[cst.BaseExpression]:
    """Yield x.exp_() for x.exp() if x can have other references, which then see the change."""
    if isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name | cst.Attribute | cst.Subscript):
        name = node.func.attr.value
        if hasattr(torch.Tensor, f"{name}_") and not name.endswith("_"):
            yield renamed(node, f"{name}_")


def in_place_arithmetic(node: cst.BinaryOperation) -> Iterator[cst.BaseExpression]:
    names: dict[type, str] = {cst.Add: "add_", cst.Subtract: "sub_", cst.Multiply: "mul_", cst.Divide: "div_", cst.Power: "pow_"}
    method = names.get(type(node.operator))
    if method and isinstance(node.left, cst.Name | cst.Attribute | cst.Subscript):
        yield from parsed(f"{code(node.left)}.{method}({code(node.right)})")


def dtypes(node: cst.Attribute) -> Iterator[cst.BaseExpression]:
    """Yield another dtype in place of one such as torch.float32, x.float or x.dtype."""
    for other in DTYPES.get(node.attr.value, ()):
        yield node.with_changes(attr=cst.Name(other))
    if node.attr.value == "dtype":
        yield from parsed("torch.float32", "torch.float64")


def dimensions(node: cst.Arg) -> Iterator[cst.CSTNode]:
    """Yield other dimensions in place of -1, except 1, which may be the same dimension."""
    if is_last_dimension(node):
        for other in parsed("0", "-2", "None"):
            yield node.with_changes(value=other)


def is_last_dimension(node: cst.Arg) -> bool:
    return node.keyword is not None and node.keyword.value == "dim" and code(node.value) == "-1"


def is_guard(node: cst.Arg) -> bool:
    """Return whether an argument is zip's `strict`, which changes nothing because the lengths agree here."""
    return node.keyword is not None and node.keyword.value == "strict"


def ranges(node: cst.Call) -> Iterator[cst.BaseExpression]:
    if name_of(node) in ("range", "arange") and node.args and not any(arg.star for arg in node.args):
        positional = [arg for arg in node.args if arg.keyword is None]
        for index, arg in enumerate(positional[:2]):
            for text in (f"{code(bracketed(arg.value))} + 1", f"{code(bracketed(arg.value))} - 1"):
                for other in parsed(text):
                    yield node.with_changes(args=[*node.args[:index], arg.with_changes(value=other), *node.args[index + 1 :]])
        if len(positional) == 1:
            for other in parsed("1"):
                yield node.with_changes(args=[cst.Arg(other), *node.args])


def slices(node: cst.Slice) -> Iterator[cst.CSTNode]:
    """Yield slices with a bound left out, or moved by one."""
    for side in ("lower", "upper", "step"):
        bound = getattr(node, side)
        if bound is None:
            continue
        yield node.with_changes(**{side: None})
        if not isinstance(bound, cst.BaseNumber):
            for other in parsed(f"{code(bracketed(bound))} + 1", f"{code(bracketed(bound))} - 1"):
                yield node.with_changes(**{side: other})


def conditions(node: cst.If | cst.While | cst.IfExp | cst.CompIf) -> Iterator[cst.CSTNode]:
    """Yield the condition negated, always true and never true."""
    for other in parsed(f"(not ({code(node.test)}))", "True", "False"):
        yield node.with_changes(test=other)


def iterated(node: cst.For | cst.CompFor) -> Iterator[cst.CSTNode]:
    """Yield the loop without its first item, and the loop without its last."""
    if isinstance(node.iter, cst.Name | cst.Attribute | cst.Subscript):
        for other in parsed(f"{code(node.iter)}[1:]", f"{code(node.iter)}[:-1]"):
            yield node.with_changes(iter=other)


# Statements

PASS = cst.Pass()
ALWAYS = cst.Name("True")


def simple_statements(node: cst.SimpleStatementLine) -> Iterator[cst.CSTNode]:
    """Yield `pass` in place of a statement."""
    if len(node.body) == 1 and not isinstance(node.body[0], cst.Pass | cst.Import | cst.ImportFrom | cst.Global | cst.Nonlocal):
        yield node.with_changes(body=[PASS])


def loops(node: cst.For | cst.While) -> Iterator[cst.CSTNode]:
    """Yield `pass` in place of the loop, and the loop stopped after its first iteration."""
    yield cst.SimpleStatementLine([PASS])
    body = list(node.body.body)
    if isinstance(node.body, cst.IndentedBlock):
        yield node.with_changes(body=node.body.with_changes(body=[*body, cst.SimpleStatementLine([cst.Break()])]))


def withs(node: cst.With) -> Iterator[cst.CSTNode]:
    """Yield the body without its `with`."""
    yield cst.If(test=ALWAYS, body=node.body)


def tries(node: cst.Try) -> Iterator[cst.CSTNode]:
    """Yield the body without the handlers or the final block, and with a final block that an exception skips."""
    if node.finalbody is not None and not node.handlers:
        yield cst.If(test=ALWAYS, body=node.body)
        block = node.finalbody.body
        if isinstance(block, cst.IndentedBlock):  # the exception would pass by
            yield cst.If(test=ALWAYS, body=cst.IndentedBlock([*node.body.body, *block.body]))
    elif node.handlers:
        yield cst.If(test=ALWAYS, body=node.body)


def elses(node: cst.If) -> Iterator[cst.CSTNode]:
    if node.orelse is not None:
        yield node.with_changes(orelse=None)


def raises(node: cst.Raise) -> Iterator[cst.CSTNode]:
    """Yield another exception, and a message without the value."""
    if not isinstance(node.exc, cst.Call):
        return
    name = name_of(node.exc)
    other = "ValueError" if name != "ValueError" else "RuntimeError"
    yield node.with_changes(exc=renamed(node.exc, other))
    if any(isinstance(arg.value, cst.FormattedString) for arg in node.exc.args):
        yield node.with_changes(exc=node.exc.with_changes(args=[cst.Arg(cst.SimpleString('"refused"'))]))


def returns(node: cst.Return) -> Iterator[cst.CSTNode]:
    """Yield the result in another precision."""
    if node.value is not None:
        for other in parsed(*(f"({code(node.value)}).{method}()" for method in ("float", "double", "int"))):
            yield node.with_changes(value=other)


def defaults(node: cst.Param) -> Iterator[cst.CSTNode]:
    """Yield a parameter without its default, and with 0 or 1 in place of the default None."""
    if node.default is not None:
        yield node.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT)
        if isinstance(node.default, cst.Name) and node.default.value == "None":
            yield from (node.with_changes(default=other) for other in parsed("0", "1"))


OWN: tuple[tuple[type | tuple[type, ...], Operator], ...] = (
    ((cst.Integer, cst.Float), numbers),
    ((cst.BinaryOperation, cst.BooleanOperation), operands),
    (cst.Comparison, comparisons),
    (cst.Call, alike),
    (cst.Call, calls),
    (cst.Call, arguments),
    (cst.Call, in_place),
    (cst.Call, ranges),
    (cst.BinaryOperation, in_place_arithmetic),
    (cst.Attribute, dtypes),
    (cst.Arg, dimensions),
    (cst.Slice, slices),
    ((cst.If, cst.While, cst.IfExp, cst.CompIf), conditions),
    ((cst.For, cst.CompFor), iterated),
    (cst.SimpleStatementLine, simple_statements),
    ((cst.For, cst.While), loops),
    (cst.With, withs),
    (cst.Try, tries),
    (cst.If, elses),
    (cst.Raise, raises),
    (cst.Param, defaults),
)


def replacements(node: cst.CSTNode, *, tensor: bool = False) -> Iterator[tuple[str, cst.CSTNode]]:
    """Yield (operator, replacement of the node). tensor: True if the function around a return node returns a tensor."""
    for kind, operator in mutation_operators:
        if isinstance(node, kind):
            yield from ((f"mutmut.{operator.__name__.removeprefix('operator_')}", other) for other in operator(node) if wanted(node, other))
    for kinds, own in OWN:
        if isinstance(node, kinds):
            yield from ((own.__name__, other) for other in own(node))
    if tensor and isinstance(node, cst.Return):
        yield from (("returns", other) for other in returns(node))


def wanted(node: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Return whether a mutant by mutmut is worth judging. Another spelling of the same name and a change of zip's `strict` are not."""
    if isinstance(node, cst.SimpleString) and isinstance(other, cst.SimpleString):
        return not same_name(str(node.evaluated_value), str(other.evaluated_value))
    if isinstance(node, cst.Call) and isinstance(other, cst.Call):
        return [code(a.value) for a in node.args if is_guard(a)] == [code(a.value) for a in other.args if is_guard(a)]
    return True


def same_name(one: str, other: str) -> bool:
    """Return whether two strings have the same meaning: float("-INF") is float("-inf"), and UTF-8 is utf-8."""
    for meaning in (float, codecs.lookup):
        try:
            return meaning(one) == meaning(other)
        except (ValueError, LookupError):
            continue
    return False
