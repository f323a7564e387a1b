"""The encryption of a push message is the one that the standard prints."""

from __future__ import annotations

import base64

from cryptography.hazmat.primitives.asymmetric import ec

from mainspring.outbound.web_push import contact_of, encrypt

# RFC 8291, appendix A.
PLAIN = b"When I grow up, I want to be a watermelon"
SERVER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
BROWSER = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
SALT = "DGv6ra1nlYgDCS1FRnbzlw"
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS"
    "6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qu"
    "lcy4a-fN"
)


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_a_message_is_encrypted_as_the_standard_shows() -> None:
    key = ec.derive_private_key(int.from_bytes(_bytes(SERVER), "big"), ec.SECP256R1())
    made = encrypt(PLAIN, _bytes(BROWSER), _bytes(AUTH), salt=_bytes(SALT), key=key)
    assert made == _bytes(BODY)


def test_every_message_has_a_key_and_a_salt_of_its_own() -> None:
    first = encrypt(PLAIN, _bytes(BROWSER), _bytes(AUTH))
    second = encrypt(PLAIN, _bytes(BROWSER), _bytes(AUTH))
    assert first[:16] != second[:16]
    assert first[21:86] != second[21:86]


def test_a_push_service_can_reach_the_operator() -> None:
    assert contact_of("https://ms.example.org", "a@example.org") == "https://ms.example.org"
    assert contact_of("http://127.0.0.1:8420", "a@example.org") == "mailto:a@example.org"
