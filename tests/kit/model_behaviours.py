"""Models with a behaviour: one that echoes, and one that obeys every instruction.

The obedient one looks for orders everywhere in its context: in the system text, in what users
say, in results of tools, in names, descriptions and schemas of tools. An order is
``ORDER: call <tool> with <json>`` or ``ORDER: say <text>``, however often it was quoted on its way.
It remembers nothing: what it has obeyed already is in the conversation.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.kit.model_script import Answer, Call, Seen

_CALL = re.compile(r"ORDER: call ([A-Za-z0-9_.:/-]+) with (?=.{0,8}\{)")
_SAY = re.compile(r"ORDER: say (.+?)(?=$|[\n\r]|\\n|\\r)", re.MULTILINE)
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_MOST_QUOTED = 4
# Tools with which an answer is handed in, by the words in their names.
_FINAL = re.compile(r"final|finish", re.IGNORECASE)


def echo(seen: Seen) -> Answer:
    """Echoes its input; asks for the last tool where it must ask for one."""
    if seen.choice not in {"auto", "none"} and seen.tools:
        name, _, schema = _final_tool(seen)
        return Answer(calls=(Call(name, as_object(schema, seen.last_text)),))
    return Answer(seen.last_text or (seen.results[-1] if seen.results else "Nothing was said."))


def obedient(seen: Seen) -> Answer:
    """Does whatever it is ordered, all of it at once where it may, and then ends."""
    done = {(call.name, _canonical(call.arguments)) for turn in seen.turns for call in turn.calls}
    calls: list[Call] = []
    for name, arguments in _orders(seen):
        asked = (name, _canonical(arguments))
        if asked not in done:
            done.add(asked)
            calls.append(Call(name, arguments))
    if calls and seen.choice != "none":
        return Answer(calls=tuple(calls if seen.parallel else calls[:1]))
    output = [text for place in _places(seen) for text in _said(place)]
    text = output[-1] if output else "All orders are carried out."
    if seen.tools and (seen.choice not in {"auto", "none"} or _FINAL.search(_final_tool(seen)[0])):
        name, _, schema = _final_tool(seen)
        if seen.choice != "none":
            return Answer(calls=(Call(name, as_object(schema, text)),))
    return Answer(text)


def _final_tool(seen: Seen) -> tuple[str, str, Mapping[str, Any]]:
    named = [tool for tool in seen.tools if tool[0] == seen.choice]
    final = [tool for tool in seen.tools if _FINAL.search(tool[0])]
    return (named or final or list(seen.tools))[-1]


def _places(seen: Seen) -> Iterator[str]:
    """Every text that the model reads and did not write, in its order."""
    for name, description, schema in seen.tools:
        yield f"{name}\n{description}\n{json.dumps(schema, ensure_ascii=False)}"
    yield seen.system
    for turn in seen.turns:
        if turn.role == "assistant":
            continue
        yield from (content for _, content in turn.results)
        yield turn.text


def _orders(seen: Seen) -> Iterator[tuple[str, dict[str, Any]]]:
    for place in _places(seen):
        for found in _CALL.finditer(place):
            arguments = _read_quoted(place[found.end() :])
            if arguments is not None:
                yield _offered(found[1], seen), arguments


def _said(place: str) -> Iterator[str]:
    for found in _SAY.finditer(place):
        yield found[1].strip().rstrip('"\\')


def _read_quoted(text: str) -> dict[str, Any] | None:
    """The object that a text begins with, also when the text was itself quoted in JSON or HTML."""
    for _ in range(_MOST_QUOTED):
        try:
            value, _ = json.JSONDecoder().raw_decode(text.lstrip())
        except ValueError:
            unquoted = html.unescape(text.replace('\\"', '"').replace("\\\\", "\\"))
            if unquoted == text:
                return None
            text = unquoted
        else:
            return value if isinstance(value, dict) else None
    return None


def _offered(name: str, seen: Seen) -> str:
    """The tool as it is offered, or by the name that it would have if it were."""
    plain = _plain(name)
    for offered in seen.tool_names:
        if offered == name or _plain(offered) == plain:
            return offered
    return _NOT_A_NAME.sub("_", name)[:64]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


def _canonical(arguments: Any) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False)


def as_object(schema: Mapping[str, Any], text: str = "text") -> dict[str, Any]:
    """An object that fits a schema, as far as a simple mind can tell."""
    made = value_of(schema, text)
    return made if isinstance(made, dict) else {}


def value_of(schema: Any, text: str = "text", root: Any = None, depth: int = 0) -> Any:
    """A value made from a schema: what it says a value is, and every property of an object."""
    root = schema if root is None else root
    if not isinstance(schema, Mapping) or depth > 16:
        return text
    if "$ref" in schema:
        return value_of(_pointed(root, str(schema["$ref"])), text, root, depth + 1)
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    for word in ("enum", "examples"):
        if schema.get(word):
            return schema[word][0]
    for word in ("anyOf", "oneOf", "allOf"):
        if schema.get(word):
            return value_of({**schema, word: [], **schema[word][0]}, text, root, depth + 1)
    return _typed(schema, text, root, depth)


def _typed(schema: Mapping[str, Any], text: str, root: Any, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        inner = schema.get("properties", {})
        return {name: value_of(one, text, root, depth + 1) for name, one in inner.items()}
    if kind == "array":
        count = max(int(schema.get("minItems", 0)), 1)
        count = min(count, int(schema.get("maxItems", count)))
        return [value_of(schema.get("items", {}), text, root, depth + 1) for _ in range(count)]
    if kind in {"integer", "number"}:
        return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    shaped = {"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "uri": "https://a.example"}
    words = shaped.get(str(schema.get("format")), text)
    return words.ljust(int(schema.get("minLength", 0)), ".")[: int(schema.get("maxLength", 10_000))]


def _pointed(root: Any, pointer: str) -> Any:
    found = root
    for step in pointer.removeprefix("#/").split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~"), {})
    return found
