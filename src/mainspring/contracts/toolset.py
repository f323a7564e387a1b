"""Toolsets: named groups of capabilities that an MCP client can choose."""

from __future__ import annotations

from enum import StrEnum


class Toolset(StrEnum):
    """The group of a capability; each capability is in exactly one."""

    AUTHORING = "authoring"  # create, review, change and rehearse automations
    RUNS = "runs"  # start, follow, halt and release runs; usage and events
    BOARDS = "boards"  # boards, their rows, forms and dashboards, and linked datasets
    PAGES = "pages"  # read, write and search pages
    WORKFLOWS = "workflows"  # workflows with their KPIs, roster and automations
    RECIPES = "recipes"  # find, install, upgrade and publish recipes
    INTEGRATIONS = "integrations"  # connect accounts, read from them and prepare writes
    SERVICES = "services"  # one tool for each write, such as gmail.send_email
    APPROVALS = "approvals"  # drafts, consents, questions and standing rules
    SECRETS = "secrets"  # the names and values of secrets
    MCP_SERVERS = "mcp_servers"  # connect MCP servers and agree to their tools
    CONNECTED = "connected"  # the tools of connected MCP servers
    MODELS = "models"  # connections to language models
    ADMIN = "admin"  # people, workers, prices and sizes of the installation
