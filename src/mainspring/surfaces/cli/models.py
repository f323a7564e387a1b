"""``models``: what can be asked, where, and at which price.

A key goes in by a pipe or a hidden prompt and never comes out. The commands call the same
capabilities as every other surface, as the local owner, who also looks after the installation.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from mainspring.contracts.errors import Invalid, NotFound
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext

_MOST_KEY: Final = 8_192
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class ModelConnectionOptions:
    """How a connection shall be; what is None stays as it is."""

    name: str
    url: str | None
    kind: str | None
    models: tuple[str, ...]
    usual: str | None
    key: str | None

    def arguments(self) -> dict[str, Any]:
        said = {
            "base_url": self.url,
            "kind": self.kind,
            "models": list(self.models) or None,
            "usual_model": self.usual,
            "key": self.key,
        }
        return {"name": self.name} | {name: one for name, one in said.items() if one is not None}


def read_key() -> str | None:
    """The key from the pipe or from a person; None when there is none."""
    if sys.stdin.isatty():
        text = "API key (press Enter for none, or to keep the current one)"
        asked = typer.prompt(text, default="", show_default=False, hide_input=True, err=True)
        return str(asked).strip() or None
    data = sys.stdin.buffer.read(_MOST_KEY)
    try:
        return data.decode("ascii").strip() or None
    except UnicodeDecodeError:
        # The cause would quote the key.
        raise Invalid("A key has plain letters alone.", code="key") from None


async def list_models(context: CommandContext, screen: Screen) -> int:
    found = await _call(context, "list_models", {})
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    if not found["connections"]:
        screen.say(
            "No model is connected yet.",
            f"  {hint('models', 'connect', 'anthropic')}  (or openai, or groq) asks for the key",
            f"  {hint('models', 'connect', 'local', '--url', 'http://localhost:11434/v1')}"
            " --for-everyone --no-key  is a server of your own",
        )
        return exits.DONE
    rows = [
        (
            one["name"],
            one["kind"],
            "everyone" if one["scope"] == "installation" else "this workspace",
            one["base_url"] or "",
            "yes" if one["has_key"] else "no",
            one["takes"] or f"{len(one['models'])} named",
        )
        for one in found["connections"]
    ]
    heads = ("Connection", "Kind", "For", "Address", "Key", "Takes")
    screen.say(columns(heads, rows, whole=("Connection", "Kind")))
    if found["models"]:
        screen.say(
            "",
            columns(
                ("Model", "Reads $/M", "Writes $/M", ""), _models(found["models"]), whole=("Model",)
            ),
        )
    usual = found["usual_model"]
    screen.say("", f"Default model: {usual or 'none; a step has to name its model.'}")
    return exits.DONE


def _models(models: list[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    shown = []
    for one in models:
        price = one["price"] or {}
        said = {"operator": "price set here", "list": ""}.get(one["price_from"], one["why_not"])
        read, written = (price.get(f"{what}_usd_per_million", "?") for what in ("input", "output"))
        shown.append((one["name"], read, written, one_line(said or "")))
    return shown


async def connect(
    context: CommandContext, screen: Screen, options: ModelConnectionOptions, *, for_everyone: bool
) -> int:
    capability = "admin_connect_model" if for_everyone else "connect_model"
    done = await _call(context, capability, options.arguments())
    if screen.for_programs:
        screen.answer(done)
        return exits.DONE
    made = done["connection"]
    verb = "connected" if done["created"] else "changed"
    whom = "every workspace" if for_everyone else "this workspace"
    key = "its key is in the vault" if made["has_key"] else "it has no key"
    screen.say(
        f"{made['name']} ({made['base_url']}) is {verb} for {whom}; {key}.",
        f"  try it    {hint('models', 'test', made['name'])}",
        f"  prices    {hint('models')}",
    )
    return exits.DONE


async def disconnect(
    context: CommandContext, screen: Screen, name: str, *, for_everyone: bool
) -> int:
    from rich.text import Text

    capability = "admin_disconnect_model" if for_everyone else "disconnect_model"
    done = await _call(context, capability, {"name": name})
    if not done["disconnected"]:
        whose = "for everyone" if for_everyone else "of this workspace"
        other = "" if for_everyone else " One for everyone takes --for-everyone."
        raise NotFound(
            f"There is no model connection {name[:64]!r} {whose}.",
            code="no_connection",
            suggestion=f"{hint('models')} lists them.{other}",
        )
    if screen.for_programs:
        screen.answer({"name": name, **done})
    else:
        screen.say(f"Deleted {name} and its key.")
        sign, colour = screen.mark("warning")
        for needing in done["needed_by"]:
            text = f" {one_line(needing)} is active and names it: it fails until it is back."
            screen.say(Text.assemble("  ", (sign, colour), text))
    return exits.DONE


async def try_connection(context: CommandContext, screen: Screen, name: str) -> int:
    tried = await _call(context, "test_model", {"name": name})
    if screen.for_programs:
        screen.answer(tried)
    else:
        sign, _ = screen.mark("succeeded" if tried["works"] else "failed")
        screen.say(f"{sign} {one_line(tried['detail'])}")
        for model in tried["models"][:_SHOWN]:
            screen.say(f"  {name}/{one_line(model)}")
        if len(tried["models"]) > _SHOWN:
            screen.say(f"  and {len(tried['models']) - _SHOWN} more")
    return exits.DONE if tried["works"] else exits.FAILED


async def set_price(
    context: CommandContext, screen: Screen, model: str, rates: Mapping[str, float | None]
) -> int:
    for name in ("input", "output"):
        if rates[name] is None:
            raise Invalid(
                f"--{name} is missing.",
                code="usage",
                suggestion="A price has both: --input and --output, in dollars for a million.",
            )
    given = {f"{name}_usd_per_million": usd for name, usd in rates.items() if usd is not None}
    done = await _call(context, "admin_set_model_price", {"model": model, **given})
    if screen.for_programs:
        screen.answer(done)
    else:
        screen.say(f"{done['price']['model']} costs that from the next ask on.")
    return exits.DONE


async def delete_price(context: CommandContext, screen: Screen, model: str) -> int:
    done = await _call(context, "admin_delete_model_price", {"model": model})
    if not done["deleted"]:
        raise NotFound(
            f"No price was set for {model[:200]!r}.",
            code="no_price",
            suggestion=f"{hint('models', 'prices')} lists them.",
        )
    if screen.for_programs:
        screen.answer(done)
    else:
        screen.say(f"The price list counts again for {model}.")
    return exits.DONE


async def list_prices(context: CommandContext, screen: Screen) -> int:
    found = await _call(context, "admin_list_model_prices", {})
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    if not found["prices"]:
        example = hint("models", "price", "local/qwen3", "--input", 0, "--output", 0)
        screen.say("No prices were set, so the price list counts.", f"  {example}  sets one")
        return exits.DONE
    names = ("input", "output", "cached", "stored")
    rows = [
        (one["model"], *(one.get(f"{name}_usd_per_million", "") for name in names))
        for one in found["prices"]
    ]
    heads = ("Model", "Reads $/M", "Writes $/M", "Read before", "Put aside")
    screen.say(columns(heads, rows, whole=("Model",)))
    return exits.DONE


async def _call(
    context: CommandContext, capability: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    async with open_client(context) as client:
        return await client.call(capability, arguments)
