"""What the tests of scripts share."""

from __future__ import annotations

from tests.kit.scripts import bench_words

__all__ = ["bench_words"]
