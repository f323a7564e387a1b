"""The isolation layers in words, and the filter as the kernel reads it."""

from __future__ import annotations

import struct

import pytest

from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.confinement import build_filter
from mainspring.actions.script.sandbox.isolation import Isolation, ProcessUser

ALLOW, KILL = 0x7FFF_0000, 0x8000_0000
ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}


def judged(program: bytes, architecture: int, number: int, first: int = 0) -> int:
    """What the filter answers: its few kinds of lines, followed manually."""
    lines = [struct.unpack("=HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]
    looked = {0: number, 4: architecture, 16: first}
    held, place = 0, 0
    while True:
        code, when, otherwise, value = lines[place]
        place += 1
        if code == 0x20:
            held = looked[value]
        elif code == 0x06:
            return int(value)
        else:
            holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            place += when if holds else otherwise


@pytest.mark.parametrize(
    ("machine", "sockets", "reading", "clone"), [("x86_64", 41, 0, 56), ("aarch64", 198, 63, 220)]
)
def test_the_filter_refuses_sockets_and_lets_reading_through(
    machine: str, sockets: int, reading: int, clone: int
) -> None:
    program = build_filter(machine)
    assert program is not None
    architecture = ARCHITECTURES[machine]

    assert judged(program, architecture, reading) == ALLOW
    assert judged(program, architecture, sockets) & 0xFFFF_0000 == 0x0005_0000
    assert judged(program, architecture, clone, 0x0001_0F00) == ALLOW
    assert judged(program, architecture, clone, 0x1000_0000) != ALLOW
    assert judged(program, architecture, 435) != ALLOW
    assert judged(program, 0x4000_0003, reading) == KILL


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert build_filter("riscv64") is None


def test_isolation_survives_a_serialization_round_trip() -> None:
    isolation = Isolation(
        7, False, True, True, ProcessUser.PER_PROCESS, ("a world of its own: no",)
    )

    assert Isolation.from_dict(isolation.as_dict()) == isolation


def test_missing_isolation_layers_are_reported_with_a_remedy() -> None:
    bare, strong = Isolation(), Isolation(landlock=4, filtered=True)

    assert len(bare.warnings()) == 3
    assert all("Allow" in text or "Use" in text for text in bare.warnings()[:2])
    assert strong.strong
    assert strong.warnings() == ()
    assert Isolation(landlock=4).warnings() != ()


def test_caps_are_counted_in_bytes() -> None:
    assert ProcessLimits(memory_mb=3).memory_bytes == 3 * 1024 * 1024
