"""Parses template text to a syntax tree, with limits on every step.

Only Jinja2's lexer rules and parser are used, so no Python source is ever generated from a
template. Tokens are counted, and numbers and text literals are decoded here rather than by Jinja2,
so that nothing is computed from a literal before its size is known and no warning or foreign
exception can leave this module. The lexer turns every line ending of a template into a line feed;
data keeps its own.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TypeVar

from jinja2 import Environment, nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.lexer import Token, TokenStream, ignored_tokens, operators
from jinja2.parser import Parser

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits

# The nodes of Jinja's syntax tree that templates may use, and their child attributes.

_TWO = ("left", "right")
_ONE_CHILD = ("node",)

CHILDREN: Mapping[type[nodes.Node], tuple[str, ...]] = {
    nodes.Template: ("body",),
    nodes.Output: ("nodes",),
    nodes.TemplateData: (),
    nodes.If: ("test", "body", "elif_", "else_"),
    nodes.For: ("target", "iter", "test", "body", "else_"),
    nodes.Assign: ("target", "node"),
    nodes.AssignBlock: ("target", "filter", "body"),
    nodes.With: ("targets", "values", "body"),
    nodes.Name: (),
    nodes.Const: (),
    nodes.List: ("items",),
    nodes.Tuple: ("items",),
    nodes.Dict: ("items",),
    nodes.Pair: ("key", "value"),
    nodes.Getattr: _ONE_CHILD,
    nodes.Getitem: ("node", "arg"),
    nodes.Slice: ("start", "stop", "step"),
    nodes.Filter: ("node", "args", "kwargs", "dyn_args", "dyn_kwargs"),
    nodes.Test: ("node", "args", "kwargs", "dyn_args", "dyn_kwargs"),
    nodes.Keyword: ("value",),
    nodes.CondExpr: ("test", "expr1", "expr2"),
    nodes.Compare: ("expr", "ops"),
    nodes.Operand: ("expr",),
    nodes.Concat: ("nodes",),
    nodes.And: _TWO,
    nodes.Or: _TWO,
    nodes.Not: _ONE_CHILD,
    nodes.Neg: _ONE_CHILD,
    nodes.Pos: _ONE_CHILD,
    nodes.Add: _TWO,
    nodes.Sub: _TWO,
    nodes.Mul: _TWO,
    nodes.Div: _TWO,
    nodes.FloorDiv: _TWO,
    nodes.Mod: _TWO,
    nodes.Pow: _TWO,
}

ReferencePath = tuple[str, ...]


def list_children(node: nodes.Node) -> list[nodes.Node]:
    """The direct children of a node that the grammar accepts."""
    found: list[nodes.Node] = []
    for name in CHILDREN[type(node)]:
        part = getattr(node, name)
        if type(part) is list:
            found.extend(part)
        elif part is not None:
            found.append(part)
    return found


def walk(tree: nodes.Node) -> Iterator[nodes.Node]:
    """Every node of a tree, in no particular order and without recursion."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(list_children(node))


def get_constant_path(node: nodes.Node) -> ReferencePath | None:
    """The constant path of an expression such as ``steps.fetch["body"]``."""
    keys: list[str] = []
    while True:
        if isinstance(node, nodes.Name):
            keys.append(node.name)
            return tuple(reversed(keys))
        if isinstance(node, nodes.Getattr):
            keys.append(node.attr)
        elif isinstance(node, nodes.Getitem) and (key := _constant_key(node.arg)) is not None:
            keys.append(key)
        else:
            return None
        node = node.node


def get_line(node: nodes.Node) -> int:
    # Some nodes are created without a line number, although the parser's types promise one.
    line: int | None = node.lineno
    return line or 1


def _constant_key(node: nodes.Node) -> str | None:
    return node.value if isinstance(node, nodes.Const) and type(node.value) is str else None


MAX_TOKENS = 2_500
# The parser recurses about fifteen calls per bracket; this keeps it far from the interpreter's
# limit at any call depth.
MAX_BRACKETS = 24
MAX_INTEGER_BITS = 2_048
_MAX_INTEGER_TEXT = 620
_MAX_FLOAT_TEXT = 400
_MAX_QUOTED = 240

_SYNTAX = ("{{", "{%", "{#")
_RAW_MARKS = frozenset({"raw_begin", "raw_end"})
# The statements that the parser accepts; the grammar rejects some of them with its own message.
_TAGS = frozenset(
    {
        "if",
        "elif",
        "else",
        "endif",
        "for",
        "endfor",
        "set",
        "endset",
        "with",
        "endwith",
        "print",
        "macro",
        "endmacro",
        "call",
        "endcall",
        "filter",
        "endfilter",
        "block",
        "endblock",
        "include",
        "import",
        "from",
        "extends",
        "autoescape",
        "endautoescape",
    }
)
_ESCAPE = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})"
    r"|U(?P<long>[0-9a-fA-F]{8})|N\{(?P<name>[^}]{1,80})\}|(?P<one>[\\'\"abfnrtv\n])"
    r"|(?P<bad>[xuUN]))"
)
_ESCAPES = {
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\n": "",
}

Tree = TypeVar("Tree")


def has_syntax(source: str) -> bool:
    """Whether a text contains any template syntax."""
    return "{" in source and any(mark in source for mark in _SYNTAX)


def check_size(source: str, limits: Limits) -> None:
    """Reject a source by its length in bytes before parsing it."""
    most = limits.template_bytes
    try:
        size = len(source) if len(source) > most else len(source.encode())
    except UnicodeEncodeError:
        raise Invalid(
            "The template holds half of a character (a lone surrogate).", code="template_syntax"
        ) from None
    if size > most:
        raise Invalid(
            f"The template is longer than {most} bytes.",
            code="template_too_long",
            suggestion="Split it over several steps, or keep long texts in the inputs.",
        )


def read_template(source: str) -> nodes.Template:
    """The syntax tree of a whole template."""
    return _read(source, None, lambda parser: nodes.Template(parser.subparse(), lineno=1))


def read_expression(source: str) -> nodes.Expr:
    """The syntax tree of one bare expression, without braces."""
    return _read(source, "variable", _whole_expression)


def format_location(line: int, sentence: str) -> str:
    """The format of a location inside a template."""
    return f"Line {line}: {sentence[:1].upper()}{sentence[1:]}"


def template_too_complex_error(line: int) -> Invalid:
    return Invalid(
        format_location(
            line, "the template is too complex: it nests too deeply or has too many parts."
        ),
        code="template_too_complex",
        suggestion="Split it over several templates or steps.",
    )


def _whole_expression(parser: Parser) -> nodes.Expr:
    found = parser.parse_expression()
    if not parser.stream.eos:
        parser.fail("one expression was expected, and there is more")
    return found


def _read(source: str, state: str | None, parse: Callable[[Parser], Tree]) -> Tree:
    environment = _environment()
    parser = Parser(environment, "")
    try:
        parser.stream = TokenStream(_tokens(source, state), None, None)
        return parse(parser)
    except TemplateSyntaxError as error:
        raise _syntax(error.lineno, error.message or "this cannot be read") from None
    except RecursionError:
        raise template_too_complex_error(parser.stream.current.lineno) from None


@cache
def _environment() -> Environment:
    # Keep the final line ending of a template, as in text without any syntax.
    return Environment(keep_trailing_newline=True, autoescape=False)  # noqa: S701


def _tokens(source: str, state: str | None) -> Iterator[Token]:
    count = brackets = 0
    before = ""
    for line, kind, text in _environment().lexer.tokeniter(source, None, None, state):
        if kind in ignored_tokens or kind in _RAW_MARKS:
            continue
        count += 1
        if kind == "operator":
            brackets += (text in "([{") - (text in ")]}")
        elif before == "block_begin" and kind == "name" and text not in _TAGS:
            raise _unknown_tag(line, text)
        if count > MAX_TOKENS or brackets > MAX_BRACKETS:
            raise template_too_complex_error(line)
        before = kind
        yield _decode_token(line, kind, text)


def _decode_token(line: int, kind: str, text: str) -> Token:
    if kind == "operator":
        return Token(line, operators[text], text)
    if kind == "name" and not text.isidentifier():
        raise _syntax(line, f"{_quote_text(text)} is not a name")
    if kind == "string":
        return Token(line, kind, _text(line, text[1:-1]))
    # The parser passes the values of number tokens on unchanged.
    if kind == "integer":
        return Token(line, kind, _integer(line, text))  # type: ignore[arg-type]
    if kind == "float":
        return Token(line, kind, _float(line, text))  # type: ignore[arg-type]
    return Token(line, kind, text)


def _unknown_tag(line: int, name: str) -> Invalid:
    return Invalid(
        format_location(line, f"there is no tag called {_quote_text(name)}."),
        code="template_unsupported",
        suggestion="The tags are if, elif, else, for, set, with and raw.",
    )


def _integer(line: int, text: str) -> int:
    if len(_digits(line, text)) <= _MAX_INTEGER_TEXT:
        value = int(text.replace("_", ""), 0)
        if value.bit_length() <= MAX_INTEGER_BITS:
            return value
    raise _too_large(line)


def _float(line: int, text: str) -> float:
    if len(_digits(line, text)) <= _MAX_FLOAT_TEXT:
        value = float(text.replace("_", ""))
        if math.isfinite(value):
            return value
    raise _too_large(line)


def _digits(line: int, text: str) -> str:
    # The lexer accepts the digits of every script; only 0 to 9 are valid.
    if not text.isascii():
        raise _syntax(line, f"{_quote_text(text)} is not a number")
    return text


def _too_large(line: int) -> Invalid:
    return Invalid(format_location(line, "this number is too large."), code="template_value")


def _text(line: int, text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _decode_escape(line, found), text)


def _decode_escape(line: int, found: re.Match[str]) -> str:
    kind, spelled = found.lastgroup, found[found.lastgroup or 0]
    if kind == "one":
        return _ESCAPES[spelled]
    if kind == "name":
        code = _lookup_character(spelled)
    elif kind == "bad":
        code = -1
    else:
        code = int(spelled, 8 if kind == "octal" else 16)
    if not 0 < code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise _syntax(line, f"the escape {_quote_text(found[0])} does not name a character")
    return chr(code)


def _lookup_character(name: str) -> int:
    try:
        found = unicodedata.lookup(name)
    except KeyError:
        return -1
    return ord(found) if len(found) == 1 else -1


def _syntax(line: int, message: str) -> Invalid:
    said = message if len(message) <= _MAX_QUOTED else message[:_MAX_QUOTED] + "…"
    return Invalid(
        format_location(line, f"the template cannot be read: {said.rstrip('.')}."),
        code="template_syntax",
    )


def _quote_text(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
