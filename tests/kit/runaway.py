"""The line between slow and runaway.

Speed is measured by ``python -m bench``; a test only tells work that ends from work that
explodes. What explodes passes this line by orders of magnitude, and a busy machine never does.
"""

from __future__ import annotations

from typing import Final

# Seconds of processor time.
RUNAWAY: Final = 20.0
