"""Every check of the promise, by one command.

    python -m tests.chaos                          all of them in the quick size
    python -m tests.chaos --size check             ten minutes, on a machine that is also used
    python -m tests.chaos --size full              as large as they are meant to be
    python -m tests.chaos --only R3,R16 --seed 7   some of them, with the seed of an earlier run
    python -m tests.chaos --report PATH            and a page about it

Each check prints one figure line, numbers against their criterion, that ends in PASSED or
FAILED. A table follows; the exit code is 0 when every check has passed.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
import traceback
from pathlib import Path
from typing import get_args

import uvloop

from tests.chaos.check import Check, CheckOptions, Figure, Size, Verdict
from tests.chaos.checks import CHECKS
from tests.chaos.report import Result, page, table

_MOST_SHOWN = 20


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", choices=get_args(Size), default="quick")
    parser.add_argument("--only", default="", help="numbers with commas between, such as R3,R16")
    parser.add_argument("--seed", type=int, default=None, help="the seed of an earlier run")
    parser.add_argument("--report", type=Path, default=None, help="where the page is written")
    return parser.parse_args()


def chosen(only: str) -> list[Check]:
    """The checks with these numbers; all of them when none is named."""
    expected = [number.strip().upper() for number in only.split(",") if number.strip()]
    unknown = sorted(set(expected) - {check.number for check in CHECKS})
    if unknown:
        raise SystemExit(f"There is no check {', '.join(unknown)}.")
    return [check for check in CHECKS if not expected or check.number in expected]


async def judged(check: Check, asked: CheckOptions) -> Verdict:
    """The verdict, also about a check that broke off or did not come to an end."""
    seconds = check.patience[asked.size == "full"]
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await check.run(asked)
    except Exception as error:
        if limit.expired():
            return Verdict([Figure("the check", f"not over after {seconds:g} s", "over", False)])
        traceback.print_exc()
        texts = f"{type(error).__name__} {error}".strip().splitlines()
        return Verdict([Figure("the check", f"broke off: {texts[0][:200]}", "over", False)])


def run(check: Check, asked: CheckOptions) -> Result:
    say(f"{check.number}: {check.sentence}")
    began = time.monotonic()
    verdict = uvloop.run(judged(check, asked))
    for offence in verdict.offences[:_MOST_SHOWN]:
        say(f"  {offence}")
    result = Result(check, verdict, asked.size, asked.seed, time.monotonic() - began)
    say(result.line)
    return result


def main() -> int:
    given = options()
    seed = random.randrange(1_000_000) if given.seed is None else given.seed
    say(f"seed {seed}")
    results = [run(check, CheckOptions(given.size, seed)) for check in chosen(given.only)]
    for line in table(results):
        say(line)
    if given.report is not None:
        command = f".venv/bin/python -m tests.chaos --size {given.size} --seed {seed}"
        if given.only:
            command += f" --only {given.only}"
        before = given.report.read_text(encoding="utf-8") if given.report.is_file() else ""
        given.report.write_text(page(results, CHECKS, command, before), encoding="utf-8")
    return 0 if all(result.verdict.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
