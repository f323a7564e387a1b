"""Reading what a person hands over: a definition in a file, inputs as words."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Finding, Invalid

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits

STDIN = "-"
_SCRIPT = ".ts"
_GOAL = 300
LONGEST_WORD = 200
_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a JSON list",
    "object": "a JSON object",
}


def read_document(file: str, limits: Limits) -> Any:
    """The JSON in a file, or on the standard input for ``-``."""
    from mainspring.definition.strict_json import read_json

    # One byte more than is allowed is enough to know that there are too many.
    most = limits.json_bytes + 1
    return read_json(_raw(file, most), limits)


def read_definition_file(file: str, limits: Limits, name: str | None = None) -> Any:
    """A definition in JSON, or a script: the file alone is then the whole plan.

    A declarative integration becomes the definition that it means. With ``name`` the
    definition is called that, whatever it says itself.
    """
    document = _script(file, limits) if file.endswith(_SCRIPT) else _commented(file, limits)
    if isinstance(document, dict) and "endpoints" in document:
        from mainspring.recipes.compiling.compiler import compile_bare_definition, is_bare

        document = compile_bare_definition(document) if is_bare(document) else document
    if name is not None and isinstance(document, dict):
        check_text(name, "name")
        return {**document, "name": name}
    return document


def _commented(file: str, limits: Limits) -> Any:
    """The JSON in a file, which may have comments, as printed definitions do."""
    from mainspring.definition.strict_json import read_json

    text = _raw(file, limits.json_bytes + 1)
    try:
        return read_json(text, limits)
    except Invalid:
        has_comments = b"/*" in text or b"//" in text
        literal = _literal(text.decode("utf-8", "replace"), limits) if has_comments else None
        if literal is None:
            raise
        return literal


def _literal(source: str, limits: Limits) -> Any:
    """The object that a file of TypeScript is, with its comments; None when it is none."""
    if len(source) > limits.json_bytes:
        return None
    from mainspring.definition.script.object_literal import parse_object_literal
    from mainspring.definition.strict_json import read_json

    literal = parse_object_literal(source)
    return None if literal is None else read_json(literal, limits)


def _script(file: str, limits: Limits) -> Any:
    source = read_text(file, limits.json_bytes)
    integration = _literal(source, limits) if "endpoints" in source else None
    if integration is not None:
        return integration
    name = os.path.basename(display_name(file)).removesuffix(_SCRIPT)
    return {
        "schema_version": "1.2",
        "name": name,
        "goal": _first_comment(source) or f"Run {name}{_SCRIPT}.",
        "plan": [{"step_id": "main", "action": "script", "config": {"source": source}}],
    }


def _first_comment(source: str) -> str:
    """What a script says about itself in its first line."""
    head, _, _ = source.lstrip().partition("\n")
    return head.removeprefix("//").strip()[:_GOAL] if head.startswith("//") else ""


def read_text(file: str, most: int) -> str:
    """The text in a file, or on the standard input for ``-``."""
    raw = _raw(file, most + 1)
    if len(raw) > most:
        raise Invalid(
            f"{display_name(file)} is larger than {most:,} bytes.",
            code="file_too_large",
            suggestion="Split it into several.",
        )
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            f"{display_name(file)} is not UTF-8: byte {error.start} cannot be read.",
            code="file_encoding",
            suggestion="Save it as UTF-8.",
        ) from None


def _raw(file: str, most: int) -> bytes:
    return sys.stdin.buffer.read(most) if file == STDIN else _read(file, most)


def _read(file: str, most: int) -> bytes:
    name = display_name(file)
    try:
        if stat.S_ISDIR(os.stat(file).st_mode):
            raise _file_problem(f"{name} is a folder, not a file.")
        with open(file, "rb") as opened:
            return opened.read(most)
    except FileNotFoundError:
        raise _file_problem(f"There is no file {name}.") from None
    except PermissionError:
        raise _file_problem(f"This user may not read {name}.") from None
    except (OSError, ValueError):
        raise _file_problem(f"The file {name} cannot be read.") from None


def display_name(file: str) -> str:
    """A file's name as text, also when its bytes are none."""
    return "the standard input" if file == STDIN else os.fsencode(file).decode("utf-8", "replace")


def _file_problem(detail: str) -> Invalid:
    return Invalid(detail, code="file_unreadable", suggestion="Give the path of a file.")


def read_inputs(
    words: Sequence[str], whole: str | None, shape: Mapping[str, Any], limits: Limits
) -> dict[str, Any]:
    """The inputs of a run: one JSON object, and single values that go before it."""
    from mainspring.definition.inputs import check_declared

    given = {} if whole is None else read_object(whole, limits, "inputs")
    named: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise _input_problem("", f"{word[:60]!r} is not an input.", "Write it as name=value.")
        if name in named:
            raise _input_problem(f"/{name}", f"The input {name!r} is given twice.")
        named[name] = _value(name, text, shape, limits)
    inputs = {**given, **named}
    check_declared(inputs, shape)
    return inputs


def read_value(text: str, limits: Limits, name: str) -> Any:
    """Any JSON given as a word; what is wrong with it has a place under its name."""
    from mainspring.definition.strict_json import read_json

    try:
        return read_json(text, limits)
    except Invalid as problem:
        findings = [
            replace(finding, pointer=f"/{name}{finding.pointer}") for finding in problem.findings
        ]
        raise Invalid(problem.detail, code=problem.code, findings=findings) from None


def read_object(text: str, limits: Limits, name: str) -> dict[str, Any]:
    """The same, and it must be an object."""
    value = read_value(text, limits, name)
    if not isinstance(value, dict):
        detail = f"The {name} must be one JSON object."
        suggestion = """Write it like '{"name": "value"}'."""
        finding = Finding(f"/{name}", detail, "type", suggestion)
        raise Invalid(detail, code="type", suggestion=suggestion, findings=[finding])
    return value


def _value(name: str, text: str, shape: Mapping[str, Any], limits: Limits) -> Any:
    """Text stays text where the input is text; anywhere else it is read as JSON."""
    from mainspring.definition.strict_json import read_json

    kinds = _kinds(shape, name)
    if kinds == {"string"}:
        return text
    try:
        return read_json(text, limits)
    except Invalid as problem:
        if not kinds or "string" in kinds:
            return text
        wanted = " or ".join(_KINDS[kind] for kind in sorted(kinds) if kind in _KINDS)
        if wanted:
            raise _input_problem(f"/{name}", f"The input {name!r} must be {wanted}.") from None
        raise _input_problem(
            f"/{name}", f"The value of {name!r} is not JSON: {problem.detail}"
        ) from None


def _kinds(shape: Mapping[str, Any], name: str) -> set[str]:
    """The types that the schema names for an input; none when it names none."""
    properties = shape.get("properties")
    entry = properties.get(name) if isinstance(properties, Mapping) else None
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    if isinstance(kind, str):
        return {kind}
    return {part for part in kind if isinstance(part, str)} if isinstance(kind, list) else set()


def _input_problem(pointer: str, detail: str, suggestion: str | None = None) -> Invalid:
    finding = Finding(f"/inputs{pointer}", detail, "invalid_input", suggestion)
    return Invalid(detail, code="invalid_input", suggestion=suggestion, findings=[finding])


def is_storable(text: str) -> bool:
    """Whether a word is text at all: the bytes of a command line need not be."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_text(text: str, name: str) -> None:
    """Refuses a word that cannot be looked for."""
    if not 0 < len(text) <= LONGEST_WORD or not is_storable(text):
        detail = f"The {name} must be text of 1 to {LONGEST_WORD} characters."
        raise Invalid(detail, code=name, findings=[Finding(f"/{name}", detail, name)])
