"""How many time phrases are read as a person means them.

python -m scripts.phrase_score [--set FILE]

The phrases are in tests/phrases with what they mean: those that the rules were made with, and
those of somebody who had not seen the rules. Prints the share that is right in each file and
every phrase that is not.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mainspring.authoring.phrases.schedule_answers import ScheduleAnswer
from mainspring.authoring.phrases.schedule_parser import parse_schedules
from tests.kit.schedule_equivalence import NOW, same_moments

FOLDER: Final = Path(__file__).resolve().parent.parent / "tests" / "phrases"
PHRASES: Final = FOLDER / "phrases.toml"
INDEPENDENT: Final = FOLDER / "independent.toml"
ZONE: Final = "Africa/Kigali"


@dataclass(frozen=True, slots=True)
class Scored:
    """One phrase, what it means, and what was read."""

    text: str
    meant: str
    read: str

    @property
    def right(self) -> bool:
        return any(same(meant, self.read) for meant in self.meant.split(" or "))


def score(file: Path = PHRASES) -> list[Scored]:
    """Every phrase of a file, read."""
    sections = tomllib.loads(file.read_text(encoding="utf-8"))
    return [
        Scored(text, meant, shown(parse_schedules(text, NOW, ZONE)))
        for phrases in sections.values()
        for text, meant in phrases.items()
    ]


def shown(answer: ScheduleAnswer) -> str:
    """An answer in the notation of the files; a question counts before a reading."""
    if answer.clarifications:
        return f"? {answer.clarifications[0].kind}"
    if answer.refusals:
        return f"! {answer.refusals[0].kind}"
    if not answer.readings:
        return "-"
    crons = [cron for reading in answer.readings for cron in reading.crons]
    crons += [
        f"every {one['every']} from {one['anchor']}" if "every" in one else f"at {one['at']}"
        for reading in answer.readings
        for one in reading.times
    ]
    zones = sorted({reading.timezone for reading in answer.readings})
    return f"{' | '.join(crons)} @ {', '.join(zones)}"


def same(meant: str, read: str) -> bool:
    """Whether both are the same question or refusal, or go off at the same moments."""
    if "?" in meant[:1] + read[:1] or "!" in meant[:1] + read[:1] or "-" in (meant, read):
        return meant == read
    output, _, zone = meant.partition(" @ ")
    result, _, other = read.partition(" @ ")
    mine, theirs = sorted(output.split(" | ")), sorted(result.split(" | "))
    exact = output.startswith(("every ", "at ")) or result.startswith(("every ", "at "))
    if exact:
        return mine == theirs and (zone or ZONE) == other
    if (zone or ZONE) != other or mine == theirs:
        return (zone or ZONE) == other
    return same_moments([(cron, "UTC") for cron in mine], [(cron, "UTC") for cron in theirs])


def main() -> int:
    parser = argparse.ArgumentParser(description="Score the reading of time phrases.")
    parser.add_argument("--set", type=Path, help="another file of phrases")
    asked = parser.parse_args()
    all_right = True
    for file in [asked.set] if asked.set else [PHRASES, INDEPENDENT]:
        scored = score(file)
        wrong = [one for one in scored if not one.right]
        for one in wrong:
            sys.stdout.write(f"{one.text!r}\n    means {one.meant}\n    read  {one.read}\n")
        right, share = len(scored) - len(wrong), 1 - len(wrong) / len(scored)
        sys.stdout.write(f"{file.name}: {right} of {len(scored)} phrases are right: {share:.1%}\n")
        all_right = all_right and not wrong
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
