"""What a recipe may do is said before it is installed, as it will be asked afterwards."""

from __future__ import annotations

from mainspring.contracts.limits import Limits
from mainspring.recipes.codex.presentation import describe_authority
from mainspring.recipes.codex.starters import read_starters

STARTERS = read_starters().known


def test_the_sentences_name_settings_and_dependencies_and_tell_how_often() -> None:
    texts = describe_authority(STARTERS["uptime-check"].packages[0], Limits())
    for one in (
        "It may send requests to <host> (GET).",
        "It may add rows to the board <board id>.",
        "It may spend up to $1.00 a day if its steps cost anything.",
        "It starts every 5 minutes (288 times a day).",
    ):
        assert one in texts, one
    keyed = describe_authority(STARTERS["crm-enrichment"].packages[0], Limits())
    assert "It uses the secret company_data_key at <host>." in keyed


def test_every_automation_in_the_catalog_describes_itself_without_placeholders() -> None:
    for slug, starter in STARTERS.items():
        package = starter.packages[0]
        texts = describe_authority(package, Limits())
        assert bool(texts) == (package.kind in ("automation", "integration")), slug
        assert not any("01900000" in one or "install." in one for one in texts), slug
