"""A person at a terminal: a real pseudo-terminal, and what they answer to each question."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

PATIENCE = 120.0
# How a question ends that is answered with y or N; anything else may be named instead.
ASKED = "[y/N"
# A question, or the end of one, and the answer to it.
Typed = tuple[str, str]


async def yes(question: str) -> str | None:
    """Somebody who agrees to whatever they are asked."""
    del question
    return "y"


async def no(question: str) -> str | None:
    """Somebody who does not."""
    del question
    return "n"


def typed_of(answers: Sequence[str | Typed]) -> list[Typed]:
    """Answers in order; one without its question answers the next y or N."""
    return [(ASKED, one) if isinstance(one, str) else one for one in answers]


@dataclass(slots=True)
class Dialogue:
    """What was shown on a terminal so far."""

    output: bytes = b""
    unasked: list[Typed] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.output.decode(errors="replace").replace("\r\n", "\n")


@contextlib.contextmanager
def terminal(
    answers: Sequence[str | Typed], always: Sequence[Typed] = ()
) -> Iterator[tuple[int, Dialogue]]:
    """The end of a terminal that a program gets; each question is answered once it is shown.

    ``answers`` are for one question each, in order. ``always`` are for every question that ends
    like this. The block ends when everything that the program wrote has been read.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    talk = Dialogue(unasked=typed_of(answers))
    over, ended = os.pipe()

    def read() -> None:
        answered = 0
        while True:
            ready = select.select([ours, over], [], [], PATIENCE)[0]
            if ours in ready:
                try:
                    talk.output += os.read(ours, 65_536)
                except OSError:
                    return
                if talk.unasked and talk.unasked[0][0].encode() in talk.output[answered:]:
                    answered = len(talk.output)
                    os.write(ours, talk.unasked.pop(0)[1].encode() + b"\n")
                shown = talk.output[answered:]
                for end, answer in always:
                    if shown.endswith(end.encode()):
                        answered = len(talk.output)
                        os.write(ours, answer.encode() + b"\n")
                        break
            else:
                # Nothing is left to read, and nobody writes any more.
                return

    reading = threading.Thread(target=read, name="terminal", daemon=True)
    reading.start()
    try:
        yield theirs, talk
    finally:
        os.write(ended, b".")
        reading.join(PATIENCE)
        for one in (ours, theirs, over, ended):
            os.close(one)


@contextlib.contextmanager
def sitting_at(answers: Sequence[str | Typed]) -> Iterator[Dialogue]:
    """This process's own input and output are a terminal while the block lasts."""
    before = sys.stdin, sys.stdout
    with (
        terminal(answers) as (theirs, talk),
        open(os.dup(theirs), encoding="utf-8") as source,
        open(os.dup(theirs), "w", encoding="utf-8") as sink,
    ):
        sys.stdin, sys.stdout = source, sink
        try:
            yield talk
        finally:
            sink.flush()
            sys.stdin, sys.stdout = before


def answered(work: Callable[[], int], answers: Sequence[str | Typed]) -> tuple[int, str]:
    """Runs something to its end at a terminal: its code, and what was shown."""
    with sitting_at(answers) as talk:
        code = work()
    return code, talk.text
