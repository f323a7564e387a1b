"""The allowlist of Jinja syntax that a template may use.

The syntax tree is walked once. A node type that is not in the table is rejected with a sentence
that says what to do instead; names, filters and tests are checked as well. The compiler supports
everything that passes here, so a template that can be saved can be rendered.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from jinja2 import nodes

from mainspring.contracts.errors import Invalid
from mainspring.definition.templates.filters import FILTERS
from mainspring.definition.templates.parser import (
    CHILDREN,
    format_location,
    get_line,
    list_children,
    template_too_complex_error,
)

MAX_NODES = 2_000
MAX_DEPTH = 64
SECRETS = "secrets"
# Values of the workspace itself, by names in capitals: {{ publisher.NAME }}.
PUBLISHER = "publisher"
TESTS = (
    "defined",
    "undefined",
    "none",
    "number",
    "string",
    "mapping",
    "sequence",
    "boolean",
)
_SECRET_NAME = re.compile(r"[a-z0-9_]{1,64}|publisher\.[A-Z][A-Z0-9_]{0,63}")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]*")
_UNASSIGNABLE = frozenset({SECRETS, "loop"})
_OTHER_NAMES = {
    "count": "length",
    "d": "default",
    "json": "tojson",
    "to_json": "tojson",
    "strip": "trim",
    "strftime": "date",
    "format_date": "date",
    "slug": "slugify",
    "abbreviate": "truncate",
}
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


@dataclass(slots=True)
class TemplateFeatures:
    """The features found in a template; the compiler omits the support for unused ones."""

    secret_names: set[str] = field(default_factory=set)
    # The names that for, set and with define.
    made: set[str] = field(default_factory=set)
    has_loops: bool = False
    says_loop: bool = False
    sets: bool = False


def check(tree: nodes.Node, *, secrets: bool) -> TemplateFeatures:
    """Walk the whole tree; raises ``Invalid`` for the first construct that is not allowed."""
    facts = TemplateFeatures()
    # A frame: the node, its depth, and whether a secret is allowed there.
    frames = [(tree, 0, secrets)]
    count = 0
    while frames:
        node, depth, direct = frames.pop()
        count += 1
        kind = type(node)
        if kind not in CHILDREN:
            raise _unsupported_node_error(node)
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise template_too_complex_error(get_line(node))
        named = read_secret_name(node) or _bracketed_secret(node)
        if named is not None or (isinstance(node, nodes.Name) and node.name == SECRETS):
            raise _misplaced_secret(get_line(node), secrets, named)
        if kind in _CHECKS:
            _CHECKS[kind](node, facts)
        below = list_children(node)
        if kind is nodes.AssignBlock:
            direct = False
        elif direct and kind is nodes.Output:
            below = [child for child in below if not _is_secret(child, facts)]
        frames.extend((child, depth + 1, direct) for child in reversed(below))
    return facts


def read_secret_name(node: nodes.Node) -> str | None:
    """The name in ``secrets.name``, or None for any other expression.

    ``publisher.NAME`` is a secret too; in lower case it is a normal value.
    """
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        if node.node.name == PUBLISHER and _CAPITALS.fullmatch(node.attr):
            return f"{PUBLISHER}.{node.attr}"
        return node.attr if node.node.name == SECRETS else None
    return None


def _bracketed_secret(node: nodes.Node) -> str | None:
    """The name in ``publisher['NAME']``, which is not a valid way to refer to a secret."""
    if not isinstance(node, nodes.Getitem) or not isinstance(node.node, nodes.Name):
        return None
    key = node.arg.value if isinstance(node.arg, nodes.Const) else None
    is_one = node.node.name == PUBLISHER and isinstance(key, str) and _CAPITALS.fullmatch(key)
    return f"{PUBLISHER}.{key}" if is_one else None


def is_secret_path(path: Sequence[object]) -> bool:
    """Whether a reference is to a secret rather than a value."""
    if path[0] == PUBLISHER and len(path) > 1:
        return bool(_CAPITALS.fullmatch(str(path[1])))
    return path[0] == SECRETS


def template_error(code: str, line: int, sentence: str, suggestion: str | None = None) -> Invalid:
    return Invalid(format_location(line, sentence + "."), code=code, suggestion=suggestion)


def _check_name(node: nodes.Name, facts: TemplateFeatures) -> None:
    _check_public(node.name, node.lineno)
    if node.name == "loop":
        facts.says_loop = True
    if node.ctx != "load":
        if node.name in _UNASSIGNABLE:
            raise template_error(
                "template_name", node.lineno, f"{node.name!r} is reserved and cannot be set"
            )
        facts.made.add(node.name)


def _check_attribute(node: nodes.Getattr, facts: TemplateFeatures) -> None:
    del facts
    _check_public(node.attr, node.lineno)


def _check_item(node: nodes.Getitem, facts: TemplateFeatures) -> None:
    """A key may start with one underscore, as in many documents, but not with two."""
    del facts
    key = node.arg.value if isinstance(node.arg, nodes.Const) else None
    if type(key) is str and key.startswith("__"):
        raise _underscore(key, node.lineno)


def _check_keyword(node: nodes.Keyword, facts: TemplateFeatures) -> None:
    del facts
    _check_public(node.key, get_line(node))


def _check_for(node: nodes.For, facts: TemplateFeatures) -> None:
    facts.has_loops = True
    if node.recursive:
        raise template_error("template_unsupported", node.lineno, "loops cannot be recursive")


def _check_set(node: nodes.Node, facts: TemplateFeatures) -> None:
    del node
    facts.sets = True


def _misplaced_secret(line: int, secrets: bool, name: str | None) -> Invalid:
    if secrets:
        of_workspace = name is not None and name.startswith(f"{PUBLISHER}.")
        way = "publisher.NAME" if of_workspace else "secrets.name"
        return template_error(
            "template_secret",
            line,
            f"a secret can only be put out by name, as {{{{ {way} }}}}; it cannot be "
            "compared, changed, stored or looped over",
        )
    return template_error(
        "template_secret",
        line,
        "secrets cannot be used here"
        if name is None
        else f"the secret {name[:64]!r} cannot be used here",
        "They can be used in the URL, the headers and the query of an HTTP request.",
    )


def _is_secret(node: nodes.Node, facts: TemplateFeatures) -> bool:
    name = read_secret_name(node)
    if name is None:
        return False
    _check_public(name, get_line(node))
    if not _SECRET_NAME.fullmatch(name):
        raise template_error(
            "template_secret",
            get_line(node),
            "the name of a secret has at most 64 small letters, digits and underscores",
        )
    facts.secret_names.add(name)
    return True


def _check_public(name: str, line: int) -> None:
    # Some other characters become an underscore when a name is normalised.
    if unicodedata.normalize("NFKC", name[:1]).startswith("_"):
        raise _underscore(name, line)


def _underscore(name: str, line: int) -> Invalid:
    return template_error(
        "template_name", line, f"names that start with an underscore are refused: {name[:40]!r}"
    )


def _check_filter(node: nodes.Filter, facts: TemplateFeatures) -> None:
    del facts
    if node.name not in FILTERS:
        close = get_close_matches(node.name[:40], FILTERS, n=1, cutoff=0.5)
        nearest = _OTHER_NAMES.get(node.name) or (close[0] if close else None)
        hint = f"Did you mean {nearest!r}? " if nearest else ""
        raise template_error(
            "template_unknown_filter",
            node.lineno,
            f"there is no filter called {node.name[:40]!r}",
            f"{hint}The filters are {', '.join(sorted(FILTERS))}.",
        )
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        raise template_error(
            "template_unsupported", node.lineno, "'*' and '**' arguments are not available"
        )


def _check_test(node: nodes.Test, facts: TemplateFeatures) -> None:
    del facts
    if node.name not in TESTS:
        raise template_error(
            "template_unknown_test",
            node.lineno,
            f"there is no test called {node.name[:40]!r}",
            f"The tests are {', '.join(TESTS)}; compare with ==, !=, <, <=, >, >= and in.",
        )
    if node.args or node.kwargs or node.dyn_args is not None or node.dyn_kwargs is not None:
        raise template_error(
            "template_unsupported", node.lineno, f"{node.name!r} takes no arguments"
        )


def _unsupported_node_error(node: nodes.Node) -> Invalid:
    if isinstance(node, nodes.Call):
        return _call(node)
    sentence = _INSTEAD.get(type(node), f"{type(node).__name__} is not available in templates")
    return template_error("template_unsupported", get_line(node), sentence)


def _call(node: nodes.Call) -> Invalid:
    called = node.node
    name = called.attr if isinstance(called, nodes.Getattr) else None
    if name in ("items", "keys", "values"):
        hint = "Loop over an object with 'for key in value' and read value[key]."
    elif name in FILTERS:
        hint = f"Write it as a filter: value | {name}."
    else:
        hint = f"The filters are {', '.join(sorted(FILTERS))}."
    return template_error(
        "template_unsupported", node.lineno, "nothing can be called in templates", hint
    )


_CHECKS: Mapping[type[nodes.Node], Callable[[Any, TemplateFeatures], None]] = {
    nodes.Name: _check_name,
    nodes.Getattr: _check_attribute,
    nodes.Getitem: _check_item,
    nodes.Keyword: _check_keyword,
    nodes.Filter: _check_filter,
    nodes.Test: _check_test,
    nodes.For: _check_for,
    nodes.Assign: _check_set,
    nodes.AssignBlock: _check_set,
}
