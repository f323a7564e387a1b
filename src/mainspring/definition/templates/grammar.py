"""The allowlist: which parts of Jinja's syntax a template may use.

The tree that the parser made is walked once. A node whose kind is not in the table is
refused with a sentence that says what to do instead; names, filters and tests are
checked on the way. What passes here is all that the compiler knows how to run, so a
template that can be saved is a template that can be rendered.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from difflib import get_close_matches

from jinja2 import nodes

from mainspring.contracts.errors import Invalid
from mainspring.definition.templates.filters import FILTERS
from mainspring.definition.templates.tokens import located, too_complex

MAX_NODES = 2_000
MAX_DEPTH = 64
SECRETS = "secrets"
TESTS = (
    "defined", "undefined", "none", "number", "string", "mapping", "sequence", "boolean",
)  # fmt: skip
_SECRET_NAME = re.compile(r"[a-z0-9_]{1,64}")
_UNASSIGNABLE = frozenset({SECRETS, "loop"})
_OTHER_NAMES = {
    "count": "length", "d": "default", "json": "tojson", "to_json": "tojson", "strip": "trim",
    "strftime": "date", "format_date": "date", "slug": "slugify", "abbreviate": "truncate",
}  # fmt: skip
_ALLOWED = frozenset({
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign,
    nodes.AssignBlock, nodes.With, nodes.Name, nodes.Const, nodes.List, nodes.Dict, nodes.Pair,
    nodes.Tuple, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Filter, nodes.Test,
    nodes.Keyword, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.CondExpr,
    nodes.Concat, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod,
    nodes.Pow, nodes.Neg, nodes.Pos,
})  # fmt: skip
_INSTEAD: Mapping[type[nodes.Node], str] = {
    nodes.Macro: "macros are not available in templates",
    nodes.CallBlock: "call blocks are not available in templates",
    nodes.FilterBlock: "filter blocks are not available; write {{ value | filter }}",
    nodes.Include: "a template cannot include another one",
    nodes.Import: "a template cannot import another one",
    nodes.FromImport: "a template cannot import another one",
    nodes.Extends: "a template cannot extend another one",
    nodes.Block: "blocks are not available in templates",
    nodes.NSRef: "namespaces are not available in templates",
    nodes.ScopedEvalContextModifier: "autoescape is not available; text is never escaped",
    nodes.Scope: "autoescape is not available; text is never escaped",
}


def check(tree: nodes.Node, *, secrets: bool) -> None:
    """Walks the whole tree; raises ``Invalid`` for the first thing that is not allowed."""
    # A frame: the node, its depth, and whether a secret may be put out there.
    frames = [(tree, 0, secrets)]
    count = 0
    while frames:
        node, depth, direct = frames.pop()
        count += 1
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise too_complex(_line(node))
        _check_node(node, secrets)
        inside = direct and not isinstance(node, nodes.AssignBlock)
        children = list(node.iter_child_nodes())
        if isinstance(node, nodes.Output) and inside:
            children = [child for child in children if not _is_secret(child)]
        frames.extend((child, depth + 1, inside) for child in reversed(children))


def secret_name(node: nodes.Node) -> str | None:
    """The name in ``secrets.name``, or None for any other expression."""
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        return node.attr if node.node.name == SECRETS else None
    return None


def refused(code: str, line: int, sentence: str, suggestion: str | None = None) -> Invalid:
    return Invalid(located(line, sentence + "."), code=code, suggestion=suggestion)


def _line(node: nodes.Node) -> int:
    # Some nodes are made without a line; their parents are checked before them.
    return getattr(node, "lineno", None) or 1


def _check_node(node: nodes.Node, secrets: bool) -> None:
    if type(node) not in _ALLOWED:
        raise _unsupported(node)
    match node:
        case nodes.Name():
            _check_name(node, secrets)
        case nodes.Getattr():
            _check_public(node.attr, node.lineno)
        case nodes.Getitem(arg=nodes.Const(value=str() as key)) if key.startswith("__"):
            raise _underscore(key, node.lineno)
        case nodes.Keyword():
            _check_public(node.key, _line(node))
        case nodes.Filter():
            _check_filter(node)
        case nodes.Test():
            _check_test(node)
        case nodes.For(recursive=True):
            raise refused("template_unsupported", node.lineno, "loops cannot be recursive")
        case _:
            pass


def _check_name(node: nodes.Name, secrets: bool) -> None:
    _check_public(node.name, node.lineno)
    if node.ctx != "load" and node.name in _UNASSIGNABLE:
        raise refused(
            "template_name", node.lineno, f"{node.name!r} is reserved and cannot be set"
        )
    if node.name == SECRETS:
        raise _misplaced_secret(node.lineno, secrets)


def _misplaced_secret(line: int, secrets: bool) -> Invalid:
    if secrets:
        return refused(
            "template_secret",
            line,
            "a secret can only be put out by name, as {{ secrets.name }}; it cannot be "
            "compared, changed, stored or looped over",
        )
    return refused(
        "template_secret",
        line,
        "secrets cannot be used here",
        "They may stand in the URL, the headers and the query of an HTTP request.",
    )


def _is_secret(node: nodes.Node) -> bool:
    name = secret_name(node)
    if name is None:
        return False
    _check_public(name, _line(node))
    if not _SECRET_NAME.fullmatch(name):
        raise refused(
            "template_secret",
            _line(node),
            "the name of a secret has at most 64 small letters, digits and underscores",
        )
    return True


def _check_public(name: str, line: int) -> None:
    # Some other characters become an underscore when a name is normalised.
    if unicodedata.normalize("NFKC", name[:1]).startswith("_"):
        raise _underscore(name, line)


def _underscore(name: str, line: int) -> Invalid:
    return refused(
        "template_name", line, f"names that start with an underscore are refused: {name[:40]!r}"
    )


def _check_filter(node: nodes.Filter) -> None:
    if node.name not in FILTERS:
        close = get_close_matches(node.name[:40], FILTERS, n=1, cutoff=0.5)
        nearest = _OTHER_NAMES.get(node.name) or (close[0] if close else None)
        hint = f"Did you mean {nearest!r}? " if nearest else ""
        raise refused(
            "template_unknown_filter",
            node.lineno,
            f"there is no filter called {node.name[:40]!r}",
            f"{hint}The filters are {', '.join(sorted(FILTERS))}.",
        )
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        raise refused(
            "template_unsupported", node.lineno, "'*' and '**' arguments are not available"
        )


def _check_test(node: nodes.Test) -> None:
    if node.name not in TESTS:
        raise refused(
            "template_unknown_test",
            node.lineno,
            f"there is no test called {node.name[:40]!r}",
            f"The tests are {', '.join(TESTS)}; compare with ==, !=, <, <=, >, >= and in.",
        )
    if node.args or node.kwargs or node.dyn_args is not None or node.dyn_kwargs is not None:
        raise refused("template_unsupported", node.lineno, f"{node.name!r} takes no arguments")


def _unsupported(node: nodes.Node) -> Invalid:
    if isinstance(node, nodes.Call):
        return _call(node)
    sentence = _INSTEAD.get(type(node), f"{type(node).__name__} is not available in templates")
    return refused("template_unsupported", _line(node), sentence)


def _call(node: nodes.Call) -> Invalid:
    called = node.node
    name = called.attr if isinstance(called, nodes.Getattr) else None
    if name in ("items", "keys", "values"):
        hint = "Loop over an object with 'for key in value' and read value[key]."
    elif name in FILTERS:
        hint = f"Write it as a filter: value | {name}."
    else:
        hint = f"The filters are {', '.join(sorted(FILTERS))}."
    return refused("template_unsupported", node.lineno, "nothing can be called in templates", hint)
