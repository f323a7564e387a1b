"""The install hint for optional dependencies."""

from __future__ import annotations


def format_install_hint(extra: str) -> str:
    """The command for an installed package and for a source checkout."""
    return (
        f"Install it with: pip install 'mainspring[{extra}]' "
        f"(in a checkout: .venv/bin/pip install -c constraints.txt -e '.[{extra}]')"
    )
