"""How to get what is not brought along, said the same way everywhere."""

from __future__ import annotations


def format_install_hint(extra: str) -> str:
    """For whoever has the package, and for whoever has its source."""
    return (
        f"Install it with: pip install 'mainspring[{extra}]' "
        f"(in a checkout: .venv/bin/pip install -c constraints.txt -e '.[{extra}]')"
    )
