"""The commands about people, workspaces and tokens, and their words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.contracts.roles import Role
from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, get_context, help_alone, make_group, run_command
from mainspring.surfaces.cli.typer_functions import declared

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="Whom it is about.")]
GivenRole = Annotated[Role, typer.Argument(metavar="ROLE", help="viewer, operator, editor, …")]


def add_to(app: typer.Typer, panel: str) -> None:
    """Adds signing in and out, ``email``, ``members``, ``workspaces`` and ``tokens``."""
    app.command(name="login", rich_help_panel=panel)(_login)
    app.command(name="logout", rich_help_panel=panel)(_logout)
    app.command(name="sign-in", rich_help_panel=panel)(_sign_in)
    app.add_typer(_email(), name="email", rich_help_panel=panel)
    app.add_typer(_members(), name="members", rich_help_panel=panel)
    app.add_typer(_workspaces(), name="workspaces", rich_help_panel=panel)
    app.add_typer(_tokens(), name="tokens", rich_help_panel=panel)


def _email() -> typer.Typer:
    group = make_group("Set and verify the address that your mail goes to.")

    @group.callback(invoke_without_command=True)
    def email(ctx: typer.Context) -> None:
        """Set and verify the address that your mail goes to."""
        help_alone(ctx)

    group.command(name="show")(_show_email)
    group.command(name="set")(_set_email)
    group.command(name="code")(_send_code)
    group.command(name="verify")(_verify_email)
    return group


def _members() -> typer.Typer:
    group = make_group("Say who is in the workspace, and as what.")

    @group.callback(invoke_without_command=True)
    def members(ctx: typer.Context) -> None:
        """Say who is in the workspace, and as what."""
        help_alone(ctx)

    group.command(name="list")(_list_members)
    group.command(name="invite")(_invite)
    group.command(name="role")(_role)
    group.command(name="remove")(_remove)
    group.command(name="takeover")(_takeover)
    return group


def _workspaces() -> typer.Typer:
    group = make_group("Workspaces of the local owner; MAINSPRING_WORKSPACE chooses one.")

    @group.callback(invoke_without_command=True)
    def workspaces(ctx: typer.Context) -> None:
        """Workspaces of the local owner; MAINSPRING_WORKSPACE chooses one."""
        help_alone(ctx)

    group.command(name="list")(_list_workspaces)
    group.command(name="create")(_create_workspace)
    return group


def _tokens() -> typer.Typer:
    group = make_group("Make and revoke access tokens for programs.")

    @group.callback(invoke_without_command=True)
    def tokens(ctx: typer.Context) -> None:
        """Make and revoke access tokens for programs."""
        help_alone(ctx)

    group.command(name="list")(declared("tokens list"))
    group.command(name="create")(_create)
    group.command(name="revoke")(_revoke)
    return group


Address = Annotated[
    str | None,
    typer.Argument(metavar="ADDRESS", help="The server; left out: that of this data folder."),
]


def _login(ctx: typer.Context, address: Address = None, for_programs: Json = False) -> int:
    """Sign this terminal in to a server: you confirm a short code in your browser."""
    from mainspring.surfaces.cli.login import log_in

    context = get_context(ctx)
    return finish(log_in(context, context.screen(for_programs=for_programs), address))


def _logout(ctx: typer.Context, address: Address = None, for_programs: Json = False) -> int:
    """End this terminal's session at a server."""
    from mainspring.surfaces.cli.login import log_out

    context = get_context(ctx)
    return finish(log_out(context, context.screen(for_programs=for_programs), address))


def _sign_in(
    ctx: typer.Context,
    forget_password: Annotated[
        bool,
        typer.Option(
            "--forget-password", help="Forget the password and end all sessions when it is used."
        ),
    ] = False,
    for_whom: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="EMAIL", help="For somebody else, who then chooses a new password."
        ),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Make a link that signs the local owner in to the web pages, once."""
    from mainspring.surfaces.cli.people import show_link, show_link_for

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    if for_whom is not None:
        return finish(show_link_for(context, screen, for_whom))
    return finish(show_link(context, screen, forget=forget_password))


def _show_email(ctx: typer.Context, for_programs: Json = False) -> int:
    """Show where mail to the local owner goes."""
    from mainspring.surfaces.cli.email import show_email

    return run_command(ctx, for_programs, show_email)


def _set_email(
    ctx: typer.Context,
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Your address.")],
    for_programs: Json = False,
) -> int:
    """Set your address; a code is mailed to it, and the old one stays in force until then."""
    from mainspring.surfaces.cli.email import set_email

    return run_command(ctx, for_programs, set_email, email)


def _send_code(ctx: typer.Context, for_programs: Json = False) -> int:
    """Mail a new code to the address that is not verified yet."""
    from mainspring.surfaces.cli.email import send_code

    return run_command(ctx, for_programs, send_code)


def _verify_email(
    ctx: typer.Context,
    code: Annotated[str, typer.Argument(metavar="CODE", help="As it was mailed.")],
    for_programs: Json = False,
) -> int:
    """Verify your address with the code that was mailed to it."""
    from mainspring.surfaces.cli.email import verify_email

    return run_command(ctx, for_programs, verify_email, code)


def _list_members(ctx: typer.Context, for_programs: Json = False) -> int:
    """List members, and who was asked in."""
    from mainspring.surfaces.cli.people import show_members

    return run_command(ctx, for_programs, show_members)


def _invite(
    ctx: typer.Context,
    email: Email,
    role: Annotated[Role, typer.Option(help="What they will be here.")] = Role.VIEWER,
    for_programs: Json = False,
) -> int:
    """Ask somebody in; the link for them is shown once. Asking again makes a new link."""
    from mainspring.surfaces.cli.people import invite_member

    context = get_context(ctx)
    return finish(invite_member(context, context.screen(for_programs=for_programs), email, role))


def _role(ctx: typer.Context, email: Email, role: GivenRole, for_programs: Json = False) -> int:
    """Change what a member is."""
    from mainspring.surfaces.cli.people import set_role

    context = get_context(ctx)
    return finish(set_role(context, context.screen(for_programs=for_programs), email, role))


def _takeover(
    ctx: typer.Context,
    email: Email,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="EMAIL", help="The new owner: you, the local owner."),
    ] = None,
    automation: Annotated[
        list[str] | None,
        typer.Option("--automation", metavar="NAME", help="Only this one; may be repeated."),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Show it and take nothing over.")] = False,
    for_programs: Json = False,
) -> int:
    """Take over the automations and webhooks of a member who left."""
    from mainspring.surfaces.cli.takeover import take_over

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    return finish(take_over(context, screen, email, to=to, names=automation or (), show=show))


def _remove(ctx: typer.Context, email: Email, for_programs: Json = False) -> int:
    """Remove a member; their tokens end, and their automations stop until they are taken over."""
    from mainspring.surfaces.cli.people import drop_member

    return run_command(ctx, for_programs, drop_member, email)


def _list_workspaces(ctx: typer.Context, for_programs: Json = False) -> int:
    """List the workspaces that the local owner is in."""
    from mainspring.surfaces.cli.people import show_workspaces

    context = get_context(ctx)
    return finish(show_workspaces(context, context.screen(for_programs=for_programs)))


def _create_workspace(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    for_programs: Json = False,
) -> int:
    """Make a workspace; the local owner owns it."""
    from mainspring.surfaces.cli.people import create_workspace

    context = get_context(ctx)
    return finish(create_workspace(context, context.screen(for_programs=for_programs), name))


def _create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    role: Annotated[Role, typer.Option(help="It gives at most this.")] = Role.EDITOR,
    capability: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="It may call this and nothing else; may be given again."),
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, max=3_650, help="It ends by itself after so many days.")
    ] = None,
    approve: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AUTOMATION",
            help="Let it agree, without a person, to what this automation may do; may be given "
            "again. Needs --days and a terminal.",
        ),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Make a token; its text is printed once."""
    from mainspring.surfaces.cli.tokens import TokenOptions, create_token

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    named, approves = tuple(capability or ()) or None, tuple(approve or ()) or None
    return finish(create_token(context, screen, TokenOptions(name, role, named, days, approves)))


def _revoke(
    ctx: typer.Context,
    token: Annotated[str, typer.Argument(metavar="ID", help="Its id.")],
    for_programs: Json = False,
) -> int:
    """End a token for ever."""
    from mainspring.surfaces.cli.tokens import end_token

    context = get_context(ctx)
    return finish(end_token(context, context.screen(for_programs=for_programs), token))
