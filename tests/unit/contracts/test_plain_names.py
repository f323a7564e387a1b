"""New names are one line of visible text, in any language."""

from __future__ import annotations

import pytest

from mainspring.contracts.display_text import check_plain_name, clean_name, name_findings
from mainspring.contracts.errors import Invalid

UNSAFE = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F)]
UNSAFE += range(0x2066, 0x206A)


@pytest.mark.parametrize("code", UNSAFE, ids=hex)
def test_a_name_with_a_control_character_or_a_bidi_override_is_refused(code: int) -> None:
    name = f"in{chr(code)}voices"
    with pytest.raises(Invalid) as refused:
        check_plain_name(name, "/title")

    [finding] = refused.value.findings
    assert (finding.pointer, finding.code) == ("/title", "name_characters")
    assert finding.suggestion == "Write it as 'in voices'."
    assert refused.value.suggestion == finding.suggestion
    assert chr(code) not in refused.value.detail + finding.detail
    assert clean_name(name) == "in voices"


INVISIBLE = [0xAD, 0x61C, 0x115F, 0x1160, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x2060, 0x2065)]
INVISIBLE += [*range(0x206A, 0x2070), 0x3164, 0xFEFF, 0xFFA0, 0xE0001, 0xE0020, 0xE0061, 0xE007F]


@pytest.mark.parametrize("code", INVISIBLE, ids=hex)
def test_a_name_with_an_invisible_character_is_refused(code: int) -> None:
    name = f"in{chr(code)}voices"
    [finding] = name_findings(name)

    assert (finding.code, finding.suggestion) == ("name_characters", "Write it as 'invoices'.")
    assert f"U+{code:04X}" in finding.detail
    assert clean_name(name) == "invoices"


@pytest.mark.parametrize(
    "name",
    [
        "Invoices",
        "Rechnungen für Ü",
        "請求書",
        "فواتير",
        "می\u200cخواهم",
        "👩\u200d💻",
        "葛\U000e0100城",
        "a  b",
        "50\u00a0%",
    ],
)
def test_names_of_every_language_are_taken(name: str) -> None:
    assert name_findings(name) == []


def test_a_name_of_nothing_else_has_no_other_spelling_to_offer() -> None:
    [finding] = name_findings("\x1b\n")

    assert finding.suggestion == "Choose another name."
