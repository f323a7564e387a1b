"""Every code that the source writes down, found by reading it.

A code is handed to an error or a finding. Where a function of ours makes the error for its
callers (``_wrong(place, sentence, code)``), each call of that function is read as well, with
what it hands in put in the place of the parameters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

from scripts.syntax import nodes_of

UNKNOWN = "…"
SOURCE = Path(__file__).resolve().parents[2] / "src"

_PLACEHOLDER = re.compile(r"\{[a-z_!]+\}")
_FINDING = ("pointer", "detail", "code")
# The validator's passes write on a sheet: what is wrong, and what is doubtful.
_SHEET = ("wrong", "doubtful")
# A function that makes an error may be called by another one that does, and so on.
_DEPTH = 3

Texts = Mapping[str, str]
Entry = tuple[str, str, str]
_Assigned = tuple[int, str, ast.expr]


@dataclass(frozen=True, slots=True)
class _Function:
    """A function of the source: its parameters, its calls, and what it puts into names."""

    file: Path
    name: str
    parameters: tuple[str, ...]
    calls: tuple[ast.Call, ...]
    # In the order of their lines: sentences are often built just before they are used.
    assigned: tuple[_Assigned, ...]

    def texts(self, call: ast.Call, known: Texts) -> Texts:
        """What each name holds where a call is."""
        found = dict(known)
        for line, name, value in self.assigned:
            if line < call.lineno:
                found[name] = _text(value, found)
        return found


@dataclass(slots=True)
class _File:
    constants: dict[str, str] = field(default_factory=dict)
    functions: list[_Function] = field(default_factory=list)
    imports: dict[str, Path] = field(default_factory=dict)
    loose: list[ast.Call] = field(default_factory=list)


def codes(classes: set[str]) -> list[Entry]:
    """Each code, who says it, and the first sentence in words that goes with it."""
    found: dict[tuple[str, str], str] = {}
    for name, made, output in _Reader(classes).entries():
        known = found.get((name, made), "")
        if not any(map(str.isalpha, known)):
            found[name, made] = output
    return [(name, made, output) for (name, made), output in sorted(found.items())]


class _Reader:
    def __init__(self, classes: set[str]) -> None:
        self._classes = classes
        # A code that several modules use is shown with the sentence of the first. One integration's
        # own sentence is shown only where no other module has one.
        paths = sorted(SOURCE.rglob("*.py"), key=lambda one: ("integrations" in one.parts, one))
        self._files = {path: _read(path) for path in paths}
        self._makers: set[tuple[Path, str]] = set()
        for _ in range(_DEPTH):
            self._makers |= set(self._find_makers())

    def entries(self) -> Iterator[Entry]:
        for path, file in self._files.items():
            for function in file.functions:
                is_maker = (path, function.name) in self._makers
                for entry in self._inside(function, {}):
                    # What a maker cannot say, its callers do.
                    if not (is_maker and UNKNOWN in entry[0]):
                        yield entry
            for call in file.loose:
                yield from self._said_by(call, file.constants, path)

    def _inside(
        self, function: _Function, handed: Texts, depth: int = 0, *, marks: bool = False
    ) -> Iterator[Entry]:
        known = {**self._files[function.file].constants, **handed}
        for call in function.calls:
            if self._made(call) or self._maker(call, function.file):
                texts = function.texts(call, known)
                yield from self._said_by(call, texts, function.file, depth, marks=marks)

    def _find_makers(self) -> Iterator[tuple[Path, str]]:
        """Functions whose parameter becomes a code, here or in a maker they call."""
        for path, file in self._files.items():
            for function in file.functions:
                own = {entry: f"<{entry}>" for entry in function.parameters}
                if any("<" in code for code, _, _ in self._inside(function, own, marks=True)):
                    yield path, function.name

    def _said_by(
        self, call: ast.Call, texts: Texts, path: Path, depth: int = 0, *, marks: bool = False
    ) -> Iterator[Entry]:
        made = self._made(call)
        if made is not None:
            yield from _entry(made, call, texts, marks=marks)
            return
        maker = self._maker(call, path)
        if maker is None or depth >= _DEPTH:
            return
        yield from self._inside(maker, _bound(maker, call, texts), depth + 1, marks=marks)

    def _made(self, call: ast.Call) -> str | None:
        if isinstance(call.func, ast.Attribute):
            return "Finding" if call.func.attr in _SHEET else None
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        return name if name == "Finding" or name in self._classes else None

    def _maker(self, call: ast.Call, path: Path) -> _Function | None:
        match call.func:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
                home = self._files[path].imports.get(name, path)
            case _:
                return None
        if (home, name) not in self._makers:
            return None
        return next(one for one in self._files[home].functions if one.name == name)


def _entry(made: str, call: ast.Call, texts: Texts, *, marks: bool) -> Iterator[Entry]:
    named = {word.arg: word.value for word in call.keywords}
    if made == "Finding":
        given = dict(zip(_FINDING, call.args, strict=False)) | named
        detail, value = given.get("detail"), given.get("code")
    else:
        detail, value = (call.args[0] if call.args else named.get("detail")), named.get("code")
    code = _text(value, texts) if value is not None else UNKNOWN
    # Half a code is of use when its beginning is known.
    if (code.startswith(UNKNOWN) or not code) and not marks:
        return
    yield code, made, _PLACEHOLDER.sub(UNKNOWN, _text(detail, texts))


def _bound(maker: _Function, call: ast.Call, texts: Texts) -> dict[str, str]:
    """What a call hands in, by the maker's own names for it."""
    names = [name for name in maker.parameters if name not in ("self", "cls")]
    given = dict.fromkeys(names, UNKNOWN)
    given |= {name: _text(value, texts) for name, value in zip(names, call.args, strict=False)}
    return given | {word.arg: _text(word.value, texts) for word in call.keywords if word.arg}


def _read(path: Path) -> _File:
    tree = ast.parse(path.read_text(encoding="utf-8"), path.name)
    file = _File()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            file.imports |= dict.fromkeys((entry.name for entry in node.names), _home(node.module))
    for _, name, value in _assignments(tree.body):
        file.constants[name] = _text(value, file.constants)
    inside: set[ast.Call] = set()
    nodes = nodes_of(tree)
    for part in nodes:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            function = _function(path, part)
            file.functions.append(function)
            inside.update(function.calls)
    file.loose = [part for part in nodes if isinstance(part, ast.Call) and part not in inside]
    return file


def _function(path: Path, node: ast.FunctionDef | ast.AsyncFunctionDef) -> _Function:
    parts = nodes_of(node)
    expected = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    calls = tuple(part for part in parts if isinstance(part, ast.Call))
    named = tuple(entry.arg for entry in expected)
    return _Function(path, node.name, named, calls, _assignments(parts))


def _home(module: str) -> Path:
    path = SOURCE / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _assignments(parts: Iterable[ast.AST]) -> tuple[_Assigned, ...]:
    found: list[_Assigned] = []
    for node in parts:
        match node:
            case ast.Assign(targets=[ast.Name(id=name), *_], value=value):
                found.append((node.lineno, name, value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found.append((node.lineno, name, value))
    return tuple(sorted(found, key=itemgetter(0)))


def _text(node: ast.expr | None, texts: Texts) -> str:
    """The text of an expression as far as it is written down."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name):
            return texts.get(name, UNKNOWN)
        case ast.JoinedStr(values=values):
            return "".join(_text(value, texts) for value in values)
        case ast.FormattedValue(value=ast.Name(id=name)):
            return texts.get(name, UNKNOWN)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, texts) + _text(right, texts)
        case ast.IfExp(body=body):
            first = _text(body, texts)
            # One of two sentences is worth showing, one of two words is not.
            return first if first.endswith(".") else UNKNOWN
        case ast.Call(func=ast.Name(), args=[*_, last]):
            # A sentence that says where: the last thing handed in is the sentence.
            return _text(last, texts)
        case _:
            return UNKNOWN
