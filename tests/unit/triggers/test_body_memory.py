"""Bytes of bodies: counted while they are there, all together and for each source."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import LimitExceeded
from mainspring.triggers.webhook_auth import BodyMemoryLimiter


def test_bodies_of_all_sources_share_one_memory_limit() -> None:
    room = BodyMemoryLimiter(1, most=100, share=60)
    room.take("a", 60)
    room.take("b", 40)
    with pytest.raises(LimitExceeded) as refused:
        room.take("c", 1)
    assert refused.value.retry_after == 1.0
    room.give("a", 60)
    room.take("c", 60)
    assert room.taken == 100


def test_one_source_cannot_fill_the_memory_limit() -> None:
    room = BodyMemoryLimiter(1, most=100, share=60)
    room.take("a", 60)
    with pytest.raises(LimitExceeded):
        room.take("a", 1)
    room.take("b", 1)


def test_what_was_counted_in_pieces_is_given_back_whatever_happens() -> None:
    room = BodyMemoryLimiter(1, most=100, share=100)
    with room.held("a") as count:
        count(60)
        count(40)
        assert room.taken == 100
        with pytest.raises(LimitExceeded):
            count(1)
    assert room.taken == 0


def test_the_largest_body_always_fits_when_nothing_is_held() -> None:
    BodyMemoryLimiter(500, most=100, share=60).take("a", 500)
