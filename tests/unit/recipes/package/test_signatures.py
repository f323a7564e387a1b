"""Whether a recipe is what was published, by whom, and which of two versions is newer."""

from __future__ import annotations

import base64
import json
from copy import deepcopy
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.recipes.package import Semver, compute_recipe_digest, format_digest, read_package
from mainspring.recipes.package.example_recipes import build_good_recipe
from mainspring.recipes.package.signing import add_signature, generate_key, get_public_key, read_key


def refusal(document: Any) -> tuple[str, str]:
    with pytest.raises(Invalid) as wrong:
        read_package(document)
    (finding,) = wrong.value.findings
    return finding.pointer, finding.code


def test_a_digest_is_of_the_content_and_not_of_its_spelling() -> None:
    recipe = build_good_recipe()
    turned = json.loads(json.dumps(dict(reversed(recipe.items())), indent=7))
    sealed = {**recipe, "digest": format_digest(compute_recipe_digest(recipe))}

    assert (
        compute_recipe_digest(turned)
        == compute_recipe_digest(recipe)
        == compute_recipe_digest(sealed)
    )
    assert read_package(sealed).digest == compute_recipe_digest(recipe)
    assert read_package(recipe).digest == compute_recipe_digest(recipe)
    for changed in ({**sealed, "name": "Other"}, {**sealed, "tags": []}):
        assert refusal(changed) == ("/digest", "wrong_digest")


def test_a_signature_says_who_packed_it() -> None:
    key = generate_key()
    again = read_key(key.as_text())
    recipe = add_signature(build_good_recipe(), key)

    assert again == key
    assert read_package(recipe).public_key == key.public == get_public_key(recipe)
    assert read_package(build_good_recipe()).public_key is None
    assert base64.b64encode(key.private).decode() not in repr(key)
    # The same content by the same key is the same recipe, byte by byte.
    assert add_signature(recipe, again) == recipe


def _forged() -> dict[str, Any]:
    """Changed, and encrypted again by somebody without the key."""
    recipe = {**add_signature(build_good_recipe(), generate_key()), "name": "Other"}
    return {**recipe, "digest": format_digest(compute_recipe_digest(recipe))}


def _swapped() -> dict[str, Any]:
    """Signed by one key, with the name of another."""
    recipe = add_signature(build_good_recipe(), generate_key())
    other = add_signature(build_good_recipe(), generate_key())
    recipe["signature"]["public_key"] = other["signature"]["public_key"]
    return recipe


def _part(part: str, value: str) -> dict[str, Any]:
    recipe = add_signature(build_good_recipe(), generate_key())
    recipe["signature"][part] = value
    return recipe


FORGERIES = {
    "changed afterwards": (_forged, "/signature/value", "bad_signature"),
    "the key of another": (_swapped, "/signature/value", "bad_signature"),
    "a short signature": (lambda: _part("value", "AAAA"), "/signature/value", "bad_signature"),
    "no base64": (lambda: _part("value", "?" * 88), "/signature/value", "bad_signature"),
    "zeros": (
        lambda: _part("value", base64.b64encode(bytes(64)).decode()),
        "/signature/value",
        "bad_signature",
    ),
    "a short key": (lambda: _part("public_key", "AAAA"), "/signature/public_key", "bad_signature"),
    "a key of another kind": (
        lambda: _part("public_key", "ä"),
        "/signature/public_key",
        "bad_signature",
    ),
    "another algorithm": (lambda: _part("algorithm", "none"), "/signature/algorithm", "const"),
    "without its digest": (
        lambda: {
            k: v
            for k, v in add_signature(build_good_recipe(), generate_key()).items()
            if k != "digest"
        },
        "/digest",
        "required",
    ),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_a_forgery_is_refused_at_its_place(case: str) -> None:
    make, pointer, code = FORGERIES[case]

    assert refusal(make()) == (pointer, code)


@pytest.mark.parametrize("text", ["", "AAAA", "not a key", "A" * 44, b"\xff" * 32])
def test_what_is_no_key_signs_nothing(text: str | bytes) -> None:
    with pytest.raises(Invalid) as wrong:
        read_key(text)
    assert wrong.value.code == "bad_key"


def test_signing_leaves_the_recipe_as_it_was() -> None:
    recipe = build_good_recipe()
    before = deepcopy(recipe)
    add_signature(recipe, generate_key())
    assert recipe == before


def test_versions_are_in_the_order_of_their_numbers() -> None:
    texts = ["0.0.1", "0.9.9", "0.10.0", "1.0.0", "1.0.10", "1.2.0", "10.0.0"]
    versions = [Semver.parse(text) for text in texts]

    assert sorted(versions, key=lambda one: one) == versions
    assert max(versions) == versions[-1]
    assert [str(one) for one in versions] == texts
    assert [one.rank for one in versions] == sorted(one.rank for one in versions)
    assert Semver.parse("1.2.0").at_least(Semver.parse("1.2.0"))
    assert not Semver.parse("1.2.0").at_least(Semver.parse("1.2.1"))
    assert Semver.parse("1.2.0").compare(Semver.parse("1.10.0")) == -1
    assert Semver.parse("1.2.0").compare(Semver.parse("1.2.0")) == 0
    assert Semver.parse("2.0.0").compare(Semver.parse("1.99.0")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1.0",
        "1.0.0.0",
        "v1.0.0",
        "1.0.0-rc1",
        "1.0.0+b",
        "01.0.0",
        "1.0.x",
        "-1.0.0",
        "1.0.0\n",
        "\u0661.0.0",
        "1.0.9999999999",
        None,
        1.0,
    ],
)
def test_what_is_no_version_is_reported_at_its_place(text: object) -> None:
    with pytest.raises(Invalid) as wrong:
        Semver.parse(text, "/version")
    assert wrong.value.findings[0].pointer == "/version"
