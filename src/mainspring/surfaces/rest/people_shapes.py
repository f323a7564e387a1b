"""The request and response models about people."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from mainspring.contracts.roles import Role
from mainspring.surfaces.rest.automation_shapes import AutomationState, FindingShape
from mainspring.surfaces.rest.request_bodies import Body
from mainspring.workspace.people.passwords import LONGEST as LONGEST_PASSWORD
from mainspring.workspace.people.users import LONGEST_EMAIL, LONGEST_NAME, EmailState

Email = Annotated[str, Field(min_length=3, max_length=LONGEST_EMAIL, examples=["ada@example.org"])]
Name = Annotated[str, Field(max_length=LONGEST_NAME)]
Title = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Password = Annotated[str, Field(min_length=1, max_length=LONGEST_PASSWORD)]


class Credentials(Body):
    """What somebody signs in with."""

    email: Email
    password: Password


class LinkToken(Body):
    """What stands after the # of a link that signs in."""

    token: str = Field(min_length=1, max_length=200)


class TerminalName(Body):
    """What a terminal calls itself when it asks for a sign-in."""

    label: str = Field("", max_length=200)


class TerminalCode(Body):
    """The short code that a terminal has printed."""

    code: str = Field(min_length=1, max_length=40)


class TerminalAnswer(TerminalCode):
    """Whether the signed-in person wants that terminal to act for them."""

    confirm: bool


class DeviceCode(Body):
    """What a terminal polls with."""

    device_code: str = Field(min_length=1, max_length=200)


class LinkShape(BaseModel):
    """What a link is, before it is used."""

    model_config = ConfigDict(extra="forbid")

    purpose: Literal["first", "invite", "reset", "invitation"]
    email: str = Field(description="The recipient.")
    name: str
    made_by: str | None = Field(description="Who made it for them.")
    workspace: str | None = Field(description="Where an invitation leads.")
    role: Role | None = Field(description="What they will be there.")
    sign_in_first: bool = Field(
        description="Whether it works only for a person who is signed in with this email."
    )


class ChosenWorkspace(Body):
    """The workspace to look at."""

    workspace_id: UUID


class NewPassword(Body):
    """A new password, and the old one where there is one."""

    password: Password
    current_password: Password | None = None


class ChangedPerson(Body):
    """What somebody changes about themselves; what is left out stays."""

    name: Name | None = None
    email: Email | None = None
    default_workspace_id: UUID | None = Field(
        None, description="The workspace that is meant when none is named."
    )
    current_password: Password | None = Field(
        None, description="Needed for another email, where there is a password."
    )


class EmailCode(Body):
    """The code that was mailed to an address."""

    code: str = Field(min_length=1, max_length=40, examples=["K7QMP-2XW9D"])


class InvitedMember(Body):
    """Who is asked in, and as what."""

    email: Email
    role: Role


class ChangedMember(Body):
    """What a member is from now on."""

    role: Role


class NewToken(Body):
    """A token's name, and what it gives."""

    name: Title
    role: Role | None = Field(None, description="The maximum role. Default: your role.")
    capabilities: list[str] | None = Field(
        None, max_length=500, description="The only capabilities it may call; null: no such list."
    )
    expires_at: AwareDatetime | None = Field(None, description="Null: it works until revoked.")
    approves: list[UUID] | None = Field(
        None,
        max_length=100,
        description="The permission approve: the automations whose consents it may answer without "
        "a person. Off by default; only a person can give it, and expires_at is required then.",
    )


class NewWorkspace(Body):
    """A workspace to be made."""

    name: Title


class ChangedWorkspace(Body):
    """What changes about a workspace; what is left out stays."""

    name: Title | None = None
    cost_cap_daily_usd: Decimal | None = Field(
        None, ge=0, description="What its automations may spend in a day; null: no bound."
    )


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PersonShape(_Shape):
    """A person, as they see themselves."""

    id: UUID
    email: str
    name: str
    administrator: bool = Field(
        description="Whether they are an administrator of the installation."
    )
    has_password: bool
    default_workspace_id: UUID | None
    email_state: EmailState = Field(
        description="Mail goes to a verified address; pre_existing: set before addresses were "
        "verified, and mail still goes there."
    )
    pending_email: str | None = Field(
        None, description="A new email that takes effect once its code is entered."
    )
    email_note: str | None = Field(
        None, description="Why no code could be mailed when the email was set."
    )


class OwnWorkspaceShape(_Shape):
    """A workspace that somebody is in."""

    id: UUID
    name: str
    role: Role = Field(description="What they are there.")
    cost_cap_daily_usd: float | None
    created_at: datetime


class WorkspaceList(_Shape):
    """Every workspace that somebody is in."""

    workspaces: list[OwnWorkspaceShape]


class WhoShape(_Shape):
    """Who is asking, and where they are."""

    user: PersonShape
    workspace: OwnWorkspaceShape
    role: Role = Field(description="What they may do here and now.")
    workspaces: list[OwnWorkspaceShape]
    session_id: UUID | None = Field(description="Null for a token.")
    csrf_token: str | None = Field(
        description="Goes into the header X-CSRF-Token of every change; null for a token."
    )


class SessionShape(_Shape):
    """One browser or terminal where somebody is signed in."""

    id: UUID
    workspace_id: UUID
    kind: Literal["browser", "terminal"]
    label: str = Field(description="What the browser or the terminal calls itself.")
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    current: bool


class TerminalBegun(_Shape):
    """A sign-in that a person confirms on the page."""

    device_code: str = Field(description="The terminal polls with it. Keep it secret.")
    code: str = Field(description="The person types it on the page.")
    url: str = Field(description="The page.")
    expires_at: datetime
    interval_seconds: float = Field(description="How long to wait between two polls.")


class TerminalLook(_Shape):
    """Which terminal asked, from where and when."""

    label: str
    address: str
    created_at: datetime
    expires_at: datetime


class TerminalCollected(_Shape):
    """What became of a sign-in; the session is there once, and only for the terminal."""

    status: Literal["waiting", "signed_in"]
    session: str | None = None
    email: str | None = None
    workspace: str | None = None
    expires_at: datetime | None = None


class SessionList(_Shape):
    """Every place where somebody is signed in."""

    sessions: list[SessionShape]


class MemberShape(_Shape):
    """A member of a workspace."""

    id: UUID
    email: str
    name: str
    role: Role
    joined_at: datetime
    disabled: bool = Field(description="Shut out of the installation.")


class InvitationShape(_Shape):
    """Somebody who was asked in and has not come yet."""

    id: UUID
    email: str
    role: Role
    invited_by: UUID
    created_at: datetime
    expires_at: datetime


class LeaverShape(_Shape):
    """Somebody who left, and how much of theirs nobody has taken over yet."""

    id: UUID
    email: str
    name: str
    left_at: datetime | None = Field(description="Null: they are a member who is disabled.")
    disabled: bool
    automations: int
    webhooks: int = Field(description="Suspended webhook tokens of other members' automations.")


class MemberList(_Shape):
    """Who is in a workspace, who was asked in, and who left something behind."""

    members: list[MemberShape]
    invitations: list[InvitationShape]
    left: list[LeaverShape]


class LeftMemberShape(_Shape):
    """Who left."""

    id: UUID
    email: str
    name: str


class LeftAutomationShape(_Shape):
    """An automation whose owner left."""

    id: UUID
    name: str
    state: AutomationState
    stopped: bool = Field(description="It was active until its owner left.")
    may: list[str] = Field(description="What it may do, a sentence each.")
    missing: list[FindingShape] = Field(
        description="What the new owner has to set or connect: nothing of the former owner's is "
        "transferred."
    )
    missed: int = Field(description="Runs that it missed since; they can be replayed.")


class LeftWebhookShape(_Shape):
    """A suspended webhook token of somebody else's automation."""

    automation_id: UUID
    automation: str
    slug: str


class EstateShape(_Shape):
    """What a member left and nobody has taken over yet."""

    member: LeftMemberShape
    automations: list[LeftAutomationShape]
    webhooks: list[LeftWebhookShape]
    digest: str = Field(description="To be sent with the takeover: it says what was shown.")


class Takeover(Body):
    """What somebody takes over, by what they were shown."""

    digest: str = Field(min_length=1, max_length=100)
    automations: list[UUID] | None = Field(
        None, max_length=10_000, description="Only these. Default: everything that was shown."
    )
    replay_missed: bool = Field(
        False,
        description="Also start the missed runs that their triggers make up for: each webhook call "
        "and event, and of a schedule what its misfire policy says.",
    )


class TakenAutomationShape(LeftAutomationShape):
    """An automation that has a new owner."""

    problem: dict[str, Any] | None = Field(
        description="Why it is not active again, or why a missed run did not start; null: it is, "
        "or was not before."
    )
    replayable: int = Field(description="Missed runs that its triggers make up for.")
    replayed: int = Field(description="How many of them were started again.")


class TakenShape(_Shape):
    """What was taken over."""

    automations: list[TakenAutomationShape]
    webhooks: int


class InvitedShape(_Shape):
    """An invitation, and its link, which is shown this once."""

    invitation: InvitationShape
    link: str


class TokenShape(_Shape):
    """What is kept of a token."""

    id: UUID
    member_id: UUID
    name: str
    hint: str = Field(description="Its last four characters.")
    role: Role
    capabilities: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    approves: list[UUID] | None = Field(
        description="The automations that it may approve without a person; null: none."
    )
    warning: str | None = Field(description="Why to be careful with it; null: a usual token.")


class TokenList(_Shape):
    """Tokens, in the order of their making."""

    tokens: list[TokenShape]


class MadeToken(_Shape):
    """A new token, and its text, which is shown this once."""

    token: TokenShape
    text: str
