"""The escape battery as a table: what each script tries, written in JavaScript.

The files next to this one hold the attempts, each under a heading ``//// name :: marks``.
What an attempt returns or prints is looked through for what was planted. Marks:

- ``alone``: it may take its process down, so it gets one of its own.
- ``module``: it is a whole module, because its imports are the attempt.
- ``roomy``: it starts threads, which need more memory than the others are given.
- ``deno``: what it reaches holds no secret, so only Deno's own permissions are in its way.
- ``control``: without any isolation it succeeds. A battery that fails everywhere proves nothing.

In ``storage.js`` an attempt leaves something behind, and the one called ``found: …`` looks
for it from another process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
_FILES: Final = ("imports", "files", "processes", "network", "tricks")
_HEADING: Final = re.compile(r"^//// (.+)$", re.MULTILINE)
_NAME_IN_TEXT: Final = re.compile(r"__([A-Z]+)__")
_FOUND: Final = "found: "
_AT_ONCE: Final = 13

_PRELUDE: Final = """
const reached = "__REACHED__";
const text = (value) => {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (value instanceof ArrayBuffer) value = new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new TextDecoder("latin1").decode(value);
  try { return JSON.stringify(value) ?? String(value); } catch { return String(value); }
};
const blobOf = (source) => URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
const reachedIf = (fact) => fact ? reached + text(fact) : null;
const soon = (work, ms) => {
  let timer;
  const late = new Promise((_, refuse) => { timer = setTimeout(() => refuse("late"), ms); });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
};
const anyOf = async (tries) => {
  const said = [];
  for (const what of tries) {
    try {
      const got = await soon(what(), 300);
      if (got !== null && got !== false) said.push(text(got), String(what), reached);
    } catch { /* the next one */ }
  }
  return said.join(" ");
};
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One script of the battery."""

    name: str
    source: str
    marks: frozenset[str] = frozenset()

    @property
    def is_alone(self) -> bool:
        return not self.marks.isdisjoint({"alone", "module"})


@dataclass(frozen=True, slots=True)
class Script:
    """What one process is given: an attempt, or several that leave each other in peace."""

    attempts: tuple[Attempt, ...]

    @property
    def roomy(self) -> bool:
        return any("roomy" in attempt.marks for attempt in self.attempts)

    def source(self, planted: Mapping[str, str]) -> str:
        first = self.attempts[0]
        made = first.source if "module" in first.marks else _function(self.attempts)
        return _NAME_IN_TEXT.sub(lambda found: planted.get(found[1], found[0]), made)


def attempts() -> tuple[Attempt, ...]:
    return tuple(attempt for name in _FILES for attempt in _read(name))


def storage() -> tuple[tuple[Attempt, ...], tuple[Attempt, ...]]:
    """What leaves something behind, and what looks for it afterwards."""
    read = tuple(_read("storage"))
    leaves = tuple(one for one in read if not one.name.startswith(_FOUND))
    finds = tuple(one for one in read if one.name.startswith(_FOUND))
    assert [_FOUND + one.name for one in leaves] == [one.name for one in finds]
    return leaves, finds


def scripts(chosen: Sequence[Attempt]) -> Iterator[Script]:
    """As few processes as the attempts allow."""
    yield from (Script((one,)) for one in chosen if one.is_alone)
    together = [one for one in chosen if not one.is_alone]
    for start in range(0, len(together), _AT_ONCE):
        yield Script(tuple(together[start : start + _AT_ONCE]))


def _read(name: str) -> Iterator[Attempt]:
    found = _HEADING.split((_HERE / f"{name}.js").read_text(encoding="utf-8"))
    for heading, source in zip(found[1::2], found[2::2], strict=True):
        title, _, marks = heading.partition(" :: ")
        yield Attempt(title.strip(), source, frozenset(marks.split()))


def _function(chosen: Sequence[Attempt]) -> str:
    # A thread takes longer to start, and much longer on a busy machine.
    most = 60_000 if any("roomy" in one.marks for one in chosen) else 1_200
    bodies = "".join(
        f"told[{number}] = await tried(async () => {{\n{one.source}\n}});\n"
        for number, one in enumerate(chosen)
    )
    return (
        f"{_PRELUDE}\nexport default async ({{ input: given, brains, kv, event }}) => {{\n"
        "const told = {};\n"
        "const tried = async (what) => {\n"
        f"  try {{ return text(await soon(what(), {most})); }} catch {{ return null; }}\n"
        "};\n"
        f"{bodies}return told;\n}};\n"
    )
