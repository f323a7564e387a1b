"""The shapes of requests and answers about connected clients, for the published document."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from mainspring.contracts.roles import Role
from mainspring.surfaces.rest.bodies import Body


class ClientAnswer(Body):
    """What a person says to a client that wants to connect."""

    agree: bool
    workspace_id: UUID = Field(
        description="The workspace that the person was shown; the answer counts for no other."
    )
    role: Role | None = Field(None, description="How much it may do at most; needed for a yes.")


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RedirectShape(_Shape):
    kind: Literal["web", "loopback", "app"]
    name: str = Field(description="A host, this machine, or the scheme of an app.")


class AskingClient(_Shape):
    id: UUID
    name: str = Field(description="What it calls itself; nobody has checked it.")
    registered_at: datetime


class ChoiceShape(_Shape):
    role: Role
    scope: str
    allows: list[str] = Field(description="What it may do then, in sentences.")


class OfferedTool(_Shape):
    id: str
    label: str
    effect: str
    confirmation: bool = Field(description="Whether a person agrees before it reaches outside.")
    role: Role = Field(description="The least role that is offered it.")


class AgreedBefore(_Shape):
    role: Role
    at: datetime


class PlaceShape(_Shape):
    id: UUID
    name: str


class ClientRequest(_Shape):
    """A client that wants to connect, and what it could be given."""

    client: AskingClient
    redirect: RedirectShape = Field(description="Where the answer goes.")
    workspace: PlaceShape
    asked: Role | None = Field(description="The most it asks for; null: it leaves that to you.")
    own_role: Role
    choices: list[ChoiceShape]
    suggested: Role
    agreed: AgreedBefore | None = Field(description="What you agreed to before.")
    passes: bool = Field(
        description="Whether it asks for no more than you agreed to, and is answered at the very "
        "address on the web for which you did, so that you need not be asked again."
    )
    tools: list[OfferedTool] = Field(description="What it could call with the most of these.")
    expires_at: datetime


class ClientRedirect(_Shape):
    """Where the browser goes now, with the answer."""

    redirect: str


class ConnectedClient(_Shape):
    id: UUID
    name: str
    redirect: RedirectShape
    role: Role
    agreed_at: datetime
    last_used_at: datetime | None
    active: bool = Field(description="Whether it holds a token that works or can be renewed.")


class ConnectedClients(_Shape):
    address: str = Field(description="Where a client is pointed to.")
    clients: list[ConnectedClient]
