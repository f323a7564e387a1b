"""What a script says becomes few pieces, with every line in them."""

from __future__ import annotations

from typing import cast

import pytest

from mainspring.actions.script import output_recorder
from mainspring.contracts.context import OutputStream, StepContext


class _Record:
    """Takes pieces down."""

    def __init__(self) -> None:
        self.pieces: list[tuple[OutputStream, str]] = []

    async def say(self, stream: OutputStream, text: str, *, last: bool = False) -> None:
        self.pieces.append((stream, text))

    def of(self, stream: OutputStream) -> str:
        return "".join(text for one, text in self.pieces if one == stream)


def _voice() -> tuple[output_recorder.OutputRecorder, _Record]:
    record = _Record()
    return output_recorder.OutputRecorder(cast("StepContext", record), 1_048_576), record


async def test_a_few_changes_between_the_streams_keep_their_order() -> None:
    output, record = _voice()
    for number in range(5):
        output.hear("out", f"out {number}\n")
        output.hear("err", f"err {number}\n")
    await output.close()
    assert [stream for stream, _ in record.pieces] == ["out", "err"] * 5


async def test_a_flood_of_changes_is_reported_stream_by_stream_and_whole() -> None:
    output, record = _voice()
    for number in range(5_000):
        output.hear("out", f"out {number}\n")
        output.hear("err", f"err {number}\n")
    await output.close()
    assert len(record.pieces) < 20
    assert record.of("out") == "".join(f"out {number}\n" for number in range(5_000))
    assert record.of("err") == "".join(f"err {number}\n" for number in range(5_000))


async def test_who_has_said_plenty_is_written_down_in_larger_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(output_recorder, "_PLENTY", 4)
    output, record = _voice()
    for _ in range(3):
        for number in range(3):
            output.hear("out", f"{number}\n")
            output.hear("err", f"{number}\n")
        await output.close()
    assert [stream for stream, _ in record.pieces] == ["out", "err"] * 3 + ["out", "err"] * 2
