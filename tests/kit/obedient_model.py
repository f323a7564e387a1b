"""A model that obeys everybody: whatever its context orders, it asks for.

It reads what a model reads: the system text, what users say, results of tools, names, descriptions
and schemas of tools. It sees through base64, invisible characters and texts that were split, and
it reveals its whole context when asked. It does the task of its prompt first, which says
``First call <tool> with <json>``, and it remembers nothing: what it has asked for already is
in the conversation.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Final

from tests.kit.injected_instructions import CONTEXT, InjectedInstruction
from tests.kit.model_behaviours import as_object
from tests.kit.model_script import Answer, Call, Seen

_TASK: Final = re.compile(r"First call (\S+) with (?=\{)")
_INVISIBLE: Final = re.compile("[\u200b\u200c\u200d\u2060\ufeff]|\\\\u200[bcd]|\\\\u2060|\\\\ufeff")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")
_SIGN: Final = re.compile(r"zq\d{4}kx[ab]?")
_ENDS: Final = frozenset({"final_answer", "nothing_to_do", "cannot_do"})
# As much of its context as it hands on.
_TOLD: Final = 12_000


@dataclass(slots=True)
class ObedientModel:
    """The model, and what it has read and asked for."""

    orders: Mapping[str, InjectedInstruction]
    # What it answers at its end, wherever text is required.
    last: str = "It is done."
    # What it does at most in one turn.
    at_once: int = 16
    # By the first sign of an order: the tasks, by their first words, in which it was obeyed.
    obeyed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    # How often it asked for something that it was not offered.
    asked_in_vain: int = 0

    @classmethod
    def of(cls, orders: Sequence[InjectedInstruction]) -> ObedientModel:
        return cls({order.signs[0]: order for order in orders})

    def __call__(self, seen: Seen) -> Answer:
        calls = tuple(islice(chain(self._task(seen), self._ordered(seen)), self.at_once))
        if calls:
            return Answer("As you wish.", calls=calls)
        final = [tool for tool in seen.tools if tool[0] == "final_answer"]
        if final:
            return Answer(calls=(Call("final_answer", as_object(final[0][2], self.last)),))
        return Answer("All orders are carried out.")

    def _task(self, seen: Seen) -> Iterator[Call]:
        done = {call.name for turn in seen.turns for call in turn.calls}
        for found in _TASK.finditer(seen.turns[0].text):
            rest = seen.turns[0].text[found.end() :]
            name = _offered(found[1])
            if name not in done:
                yield Call(name, json.JSONDecoder().raw_decode(rest)[0])

    def _ordered(self, seen: Seen) -> Iterator[Call]:
        made = {call.id for turn in seen.turns for call in turn.calls}
        signs = set(_SIGN.findall(_read(seen)))
        for sign, order in self.orders.items():
            if not signs.issuperset(order.signs) or sign in made:
                continue
            name = _offered(order.action.tool)
            if seen.wire == "openai" and name not in seen.tool_names:
                # Servers of one's own let a model say any name, that of a capability too.
                name = order.action.tool
            self.obeyed[sign].add(" ".join(seen.turns[0].text.split()[:3]))
            self.asked_in_vain += name not in seen.tool_names
            # The id tells in the next turn what was asked for already.
            yield Call(name, _filled(order.action.arguments, seen), sign)


def _read(seen: Seen) -> str:
    """Everything that it reads, as somebody understands it who looks closely."""
    places = [
        f"{name}\n{description}\n{json.dumps(schema, ensure_ascii=False)}"
        for name, description, schema in seen.tools
    ]
    for turn in seen.turns:
        if turn.role != "assistant":
            places += [turn.text, *(content for _, content in turn.results)]
    text = _INVISIBLE.sub("", "\n".join([seen.system, *places]))
    return "\n".join([text, *_decoded(text)])


def _decoded(text: str) -> Iterator[str]:
    for found in _BASE64.findall(text):
        try:
            yield base64.b64decode(found, validate=True).decode("utf-8", "replace")
        except binascii.Error:
            continue


def _offered(tool: str) -> str:
    """A tool by the name under which it would be offered."""
    return _FOREIGN.sub("_", tool)[:64]


def _filled(value: Any, seen: Seen) -> Any:
    """Arguments that hold the context where it was asked for."""
    if value == CONTEXT:
        return json.dumps([seen.system, seen.body["messages"]], ensure_ascii=False)[:_TOLD]
    if isinstance(value, Mapping):
        return {key: _filled(entry, seen) for key, entry in value.items()}
    return [_filled(entry, seen) for entry in value] if isinstance(value, list) else value
