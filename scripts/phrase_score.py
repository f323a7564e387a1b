"""How many time phrases are read as a person means them.

python -m scripts.phrase_score

The phrases stand in tests/phrases/phrases.toml with what they mean. Prints the share that is
right and every phrase that is not.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mainspring.authoring.phrases.answers import Answer
from mainspring.authoring.phrases.reading import read_words

PHRASES = Path(__file__).resolve().parent.parent / "tests" / "phrases" / "phrases.toml"
ZONE = "Africa/Kigali"
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Scored:
    """One phrase, what it means, and what was read."""

    text: str
    meant: str
    read: str

    @property
    def right(self) -> bool:
        return self.meant == self.read


def score() -> list[Scored]:
    """Every phrase of the file, read."""
    sections = tomllib.loads(PHRASES.read_text(encoding="utf-8"))
    return [
        Scored(text, _tidy(meant), shown(read_words(text, NOW, ZONE)))
        for phrases in sections.values()
        for text, meant in phrases.items()
    ]


def shown(answer: Answer) -> str:
    """An answer in the notation of the file; a question counts before a reading."""
    if answer.clarifications:
        return f"? {answer.clarifications[0].kind}"
    if answer.refusals:
        return f"! {answer.refusals[0].kind}"
    if not answer.readings:
        return "-"
    crons = [cron for reading in answer.readings for cron in reading.crons]
    zones = sorted({reading.timezone for reading in answer.readings})
    return _tidy(f"{' | '.join(crons)} @ {', '.join(zones)}")


def _tidy(meant: str) -> str:
    if meant[:1] in {"?", "!", "-"}:
        return meant
    crons, _, zone = meant.partition(" @ ")
    return f"{' | '.join(sorted(crons.split(' | ')))} @ {zone or ZONE}"


def main() -> int:
    scored = score()
    wrong = [one for one in scored if not one.right]
    for one in wrong:
        sys.stdout.write(f"{one.text!r}\n    means {one.meant}\n    read  {one.read}\n")
    right = len(scored) - len(wrong)
    sys.stdout.write(f"{right} of {len(scored)} phrases are right: {right / len(scored):.1%}\n")
    return 0 if not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
