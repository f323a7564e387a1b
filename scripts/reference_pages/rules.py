"""Errors, limits and settings."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.reference_pages.markdown import code, page, sentence, table

_PLACEHOLDER = re.compile(r"\{[a-z_!]+\}")
SOURCE = Path(__file__).resolve().parents[2] / "src"


def errors_page() -> str:
    kinds = importlib.import_module("mainspring.contracts.errors").KINDS
    rows = [
        (
            code(kind),
            str(made.status),
            made.title,
            "yes" if made.retryable else "no",
            sentence(made.__doc__),
        )
        for kind, made in sorted(kinds.items(), key=lambda item: (item[1].status, item[0]))
    ]
    return page(
        "Errors",
        "Every failure is one RFC 9457 problem document, the same on every surface: `type` is "
        "`urn:mainspring:problem:<kind>`, `detail` is a sentence for a person, `code` is for "
        "programs, and `errors` lists each finding with its JSON pointer.",
        "## Kinds",
        table(("Kind", "Status", "Title", "Retried", "Meaning"), rows),
        "## Codes",
        "`…` stands for a value of the case at hand. Without a code of its own, a problem "
        "carries its kind as the code.",
        table(("Code", "Said by", "Sentence"), _codes({made.__name__ for made in kinds.values()})),
    )


def _codes(classes: set[str]) -> list[tuple[str, str, str]]:
    """Each code that the source writes down, with the first sentence in words that goes with it."""
    found: dict[tuple[str, str], str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), path.name)
        for part in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] + [tree]:
            texts = _assigned(part)
            for node in ast.walk(part):
                if isinstance(node, ast.Call):
                    for name, made, said in _code_of(node, classes, texts):
                        if not any(map(str.isalpha, found.get((name, made), ""))):
                            found[name, made] = said
    return [(code(name), made, said) for (name, made), said in sorted(found.items())]


def _assigned(part: ast.AST) -> dict[str, ast.expr]:
    """What a function first puts into a name: its sentences are often built beforehand."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(part):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, node.value)
    return found


def _code_of(
    node: ast.Call, classes: set[str], texts: dict[str, ast.expr]
) -> Iterator[tuple[str, str, str]]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    # The validator's passes write on a sheet: what is wrong, and what is doubtful.
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("wrong", "doubtful"):
        name = "Finding"
    named = {word.arg: word.value for word in node.keywords}
    if name == "Finding":
        given = dict(zip(("pointer", "detail", "code"), node.args, strict=False)) | named
        detail, value = given.get("detail"), given.get("code")
    elif name in classes:
        detail, value = (node.args[0] if node.args else named.get("detail")), named.get("code")
    else:
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        if isinstance(detail, ast.Name):
            detail = texts.get(detail.id)
        yield value.value, name, _PLACEHOLDER.sub("…", _said(detail))


def _said(node: ast.expr | None) -> str:
    """The text of an expression as far as it is written down."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_said, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _said(left) + _said(right)
        case _:
            return "…"


def limits_page() -> str:
    limits = importlib.import_module("mainspring.contracts.limits").all_limits()
    rows = [
        (code(name), f"{default:,}", unit, code(f"MAINSPRING_LIMIT_{name.upper()}"), said)
        for name, default, unit, said in limits
    ]
    return page(
        "Limits",
        "Sizes and counts nothing may exceed. An operator sets any of them with the variable "
        "beside it; a limit that is not in this table does not exist.",
        table(("Limit", "Default", "Unit", "Variable", "What it bounds"), rows),
    )


def settings_page() -> str:
    settings = importlib.import_module("mainspring.settings").all_settings()
    rows = [(code(variable), default, said) for variable, default, said in settings]
    return page(
        "Settings",
        "Read from the environment once, at the start. A value that cannot be used stops the "
        "start and is named.",
        table(("Variable", "Default", "Meaning"), rows),
    )
