"""``recipes`` and ``scaffold recipe``: recipes as files, without a server and a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Conflict, Invalid, NotFound
from mainspring.recipes.package import (
    RecipePackage,
    build_recipe_schema,
    compute_recipe_digest,
    format_digest,
    read_package,
    read_place,
    validate_package,
)
from mainspring.recipes.package.scaffold import scaffold
from mainspring.recipes.package.signing import KeyPair, add_signature, generate_key, read_key
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.files import write_file
from mainspring.surfaces.cli.screen import as_json, one_line
from mainspring.workspace.private_file import InsecureFileError, read_private, write_private

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen

_SEALS: Final = ("digest", "signature")


def check_recipe(context: CommandContext, screen: Screen, place: Path) -> int:
    """Says what is wrong, or what it is."""
    package = _validate_package(context, read_place(place, context.limits()))
    if screen.for_programs:
        screen.answer({"valid": True, **_describe_package(package)})
        return exits.DONE
    screen.note(f"{one_line(package.name)}, {package.kind} {package.slug} {package.version}: good.")
    for line in _asks(package):
        screen.note(f"  {line}")
    return exits.DONE


def pack_recipe(context: CommandContext, screen: Screen, place: Path, output: Path) -> int:
    """Writes the one document that a folder stands for."""
    document = read_place(place, context.limits())
    # Packing seals what is there now; an older seal would only contradict it.
    bare = {key: value for key, value in document.items() if key not in _SEALS}
    package = _validate_package(
        context, {**bare, "digest": format_digest(compute_recipe_digest(bare))}
    )
    hint = "Choose another name with -o, or remove that file first."
    write_file(output, as_json(package.document) + "\n", suggestion=hint)
    return _done(screen, package, output, "Packed")


def sign_recipe(context: CommandContext, screen: Screen, file: Path, key_file: Path) -> int:
    """Puts a signature into a packed recipe."""
    key = _key(key_file)
    document = read_place(file, context.limits())
    bare = {name: value for name, value in document.items() if name != "signature"}
    read_package(bare, context.limits())
    if not file.is_file() or file.suffix == ".zip":
        detail = "Only a packed recipe can be signed."
        hint = f"Pack it first: `mainspring recipes pack {one_line(str(file))} -o FILE.json`."
        raise Invalid(detail, code="not_packed", suggestion=hint)
    package = read_package(add_signature(bare, key), context.limits())
    write_file(file, as_json(package.document) + "\n", over=True, suggestion="")
    return _done(screen, package, file, "Signed")


def make_key(screen: Screen, file: Path) -> int:
    """Writes a new key to a file that only its owner can read; one that is there stays."""
    if file.exists() or file.is_symlink():
        raise Conflict(
            f"There is a file {one_line(str(file))} already.",
            code="file_exists",
            suggestion="An existing key is never overwritten. Choose another file.",
        )
    key = generate_key()
    try:
        write_private(file, key.as_text().encode())
    except OSError as error:
        detail = f"The key cannot be written: {error.strerror}."
        raise Invalid(detail, code="unwritable") from None
    if screen.for_programs:
        screen.answer({"file": str(file), "public_key": key.shown_public()})
        return exits.DONE
    screen.note(f"Made {one_line(str(file))}. Keep it: a later version is signed by the same key.")
    screen.note(f"  Its public half: {key.shown_public()}")
    return exits.DONE


def show_recipe_schema(screen: Screen) -> int:
    screen.answer(build_recipe_schema())
    return exits.DONE


def scaffold_recipe(screen: Screen, name: str, kind: str, into: Path) -> int:
    """Writes a folder that passes the check, and says what comes next."""
    written = scaffold(name, kind, into)
    root = written[0].parent
    if screen.for_programs:
        screen.answer({"folder": str(root), "files": [str(path) for path in written]})
        return exits.DONE
    screen.note(f"Made {one_line(str(root))} with {len(written)} files.")
    screen.note("Next: change what it does, then")
    screen.note(f"  mainspring recipes check {one_line(str(root))}")
    screen.note(f"  mainspring codex publish {one_line(str(root))}")
    return exits.DONE


def _validate_package(context: CommandContext, document: Any) -> RecipePackage:
    limits = context.limits()
    package = read_package(document, limits)
    findings = validate_package(package, context.doors.vocabulary(limits), limits)
    if findings:
        count = len(findings)
        things = "1 problem" if count == 1 else f"{count} problems"
        raise Invalid(f"The recipe has {things}.", code="invalid_recipe", findings=findings)
    return package


def _key(file: Path) -> KeyPair:
    try:
        content = read_private(file)
    except InsecureFileError:
        raise Invalid(
            "The key's file can be read by others, so it is not used.",
            code="key_unguarded",
            suggestion=f"If no one else has read it: `chmod 600 {one_line(str(file))}`.",
        ) from None
    except OSError as error:
        detail = f"The key cannot be read: {error.strerror}."
        raise Invalid(detail, code="unreadable") from None
    if content is None:
        raise NotFound(
            f"There is no key at {one_line(str(file))}.",
            code="no_key",
            suggestion="Make one: `mainspring recipes new-key KEYFILE`.",
        )
    return read_key(content)


def _done(screen: Screen, package: RecipePackage, file: Path, what: str) -> int:
    if screen.for_programs:
        screen.answer({"file": str(file), **_describe_package(package)})
    else:
        screen.note(f"{what} {package.slug} {package.version} as {one_line(str(file))}.")
        screen.note(f"  {format_digest(package.digest)}")
    return exits.DONE


def _describe_package(package: RecipePackage) -> dict[str, Any]:
    return {
        "slug": package.slug,
        "version": str(package.version),
        "kind": package.kind,
        "name": package.name,
        "digest": format_digest(package.digest),
        "signed": package.public_key is not None,
        "grants": [grant.as_dict() for grant in package.grants],
        "hosts": list(package.hosts),
        "dependencies": [one.slug for one in package.dependencies],
    }


def _asks(package: RecipePackage) -> list[str]:
    """What whoever installs it is told."""
    requires = package.requires
    listed = {
        "May call": sorted({grant.capability for grant in package.grants}),
        "May reach": package.hosts,
        "Needs secrets": [one.name for one in requires.secrets],
        "Needs secrets of its publisher": [one.name for one in requires.publisher_secrets],
        "Needs connections": [one.name for one in requires.connections],
        "Needs recipes": [one.slug for one in package.dependencies],
    }
    return [f"{says}: {one_line(', '.join(names))}" for says, names in listed.items() if names]
