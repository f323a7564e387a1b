"""What a double of a provider answers: a script of answers, and the plain values it is made of.

An entry of a script is an ``Answer``, or the same as a JSON object in a file; a bare string is an
answer of that text. Entries are taken in their order; one with ``when`` waits for a request in
which that text is, and one with ``keep`` is never used up. When nothing is left, ``then`` says
what to do: ``refuse`` (a plain error, so that a request too many is seen), ``echo`` or
``obedient``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

Broken = Literal[
    "", "never", "cut", "hang_up", "no_json", "no_object", "no_usage", "no_finish", "empty", "huge"
]
Wire = Literal["anthropic", "openai", "embeddings", "other"]


@dataclass(frozen=True, slots=True)
class Call:
    """The model asks for a tool, by the name that the provider sees."""

    name: str
    # Text is sent as it is where the wire has text there (OpenAI), and as it is parsed elsewhere.
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, in words that fit both wires."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thoughts: str = ""
    # None: counted from what was sent and what is answered, a token for four characters. What
    # was read in all, cached and stored included, on both wires.
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0
    stored_tokens: int = 0
    # None: tool_use with calls, end_turn without; max_tokens, refusal, stop_sequence …
    finish: str | None = None
    # Another model than the one that was asked.
    model: str = ""
    status: int = 200
    # The provider's sentence, and its own name for the error, when the status is no 200.
    error: str = ""
    error_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    # The whole body as text, instead of one on this wire.
    body: str | None = None
    seconds: float = 0.0
    broken: Broken = ""
    when: str = ""
    keep: bool = False


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A call as it is in the conversation that was sent."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation that was sent, the same for both wires."""

    role: str
    text: str = ""
    calls: tuple[SeenCall, ...] = ()
    # Pairs of a call's id and what came of it.
    results: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it was sent on the wire, and what it says."""

    wire: Wire
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    model: str = ""
    system: str = ""
    turns: tuple[Turn, ...] = ()
    # Name, description and schema of each.
    tools: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    choice: str = "auto"
    max_tokens: int | None = None
    parallel: bool = True

    @property
    def tool_names(self) -> list[str]:
        return [name for name, _, _ in self.tools]

    @property
    def last_text(self) -> str:
        """The last words of a user."""
        output = [turn.text for turn in self.turns if turn.role == "user" and turn.text]
        return output[-1] if output else ""

    @property
    def results(self) -> list[str]:
        return [content for turn in self.turns for _, content in turn.results]

    def as_dict(self) -> dict[str, Any]:
        return {
            "wire": self.wire,
            "method": self.method,
            "path": self.path,
            "headers": dict(self.headers),
            "body": dict(self.body),
        }


Mind = Callable[[Seen], Answer]
Entry = Answer | str | Mapping[str, Any]


def as_answer(entry: Entry) -> Answer:
    """An entry of a script, in whatever way it is written."""
    if isinstance(entry, Answer):
        return entry
    if isinstance(entry, str):
        return Answer(entry)
    known = {one.name for one in fields(Answer)}
    unknown = sorted(set(entry) - known)
    if unknown:
        raise ValueError(f"an answer of a script has no {unknown[0]!r}")
    calls = tuple(Call(**call) for call in entry.get("calls", ()))
    return replace(Answer(), **{**entry, "calls": calls})


def as_entries(given: Sequence[Entry]) -> list[Answer]:
    return [as_answer(entry) for entry in given]
