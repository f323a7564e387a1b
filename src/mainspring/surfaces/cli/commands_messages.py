"""Commands about events, messages, drafts, approvals and consents."""

from __future__ import annotations

from typing import Final

from mainspring.surfaces.cli.declarations import Command, Param, flag, limit, option

_LIMIT: Final = limit(20, name="most")
_EVENT: Final = Param("text", "An event's id or its first characters.", metavar="EVENT")

_EVENTS: Final = (
    Command(
        "events",
        "List events, newest first.",
        "events:show_events",
        (option("kind", "Only events of this type.", "--type", metavar="TYPE"), _LIMIT),
    ),
    Command(
        "events show", "Show an event and the runs it started.", "events:show_event", (_EVENT,)
    ),
    Command(
        "events replay",
        "Publish a copy of an event for the triggers that exist now.",
        "events:tell_once_more",
        (_EVENT,),
    ),
    Command(
        "publish",
        "Publish an event. Triggers of active automations can start on it.",
        "events:tell",
        (
            Param("kind", "The event type, for example orders.paid.", metavar="TYPE"),
            option("payload", "The payload as a JSON object.", metavar="JSON"),
            option("source", "What the event is about.", default="cli", metavar="NAME"),
        ),
    ),
)

_INBOX: Final = (
    Command(
        "inbox",
        "List messages from automations, newest first.",
        "inbox:show_inbox",
        (flag("unread", "Only unread messages."), _LIMIT),
    ),
    Command(
        "inbox read",
        "Mark a message, or all messages, as read.",
        "inbox:read_messages",
        (
            Param(
                "text",
                "A message's id or its first characters.",
                default=None,
                metavar="MESSAGE",
            ),
            flag("everything", "Mark all messages.", "--all"),
        ),
    ),
    Command(
        "inbox prompts",
        "Print undecided items with markers, for the start of an assistant session.",
        "inbox:show_prompts",
        (_LIMIT,),
        in_process=True,
    ),
)

_DRAFT: Final = Param("text", "A draft's id or its first characters.", metavar="DRAFT")
_BATCH: Final = Param("text", "A batch's id.", metavar="BATCH")
_EDITS: Final = option(
    "edits", "A new value for one field. Repeatable.", "--edit", metavar="FIELD=VALUE", many=True
)
_REASON: Final = option("reason", "The reason, stored with the draft.", metavar="TEXT")

_DRAFTS: Final = (
    Command(
        "drafts",
        "List actions that are held for approval.",
        "drafts:show_drafts",
        (
            option(
                "status",
                "Only drafts with this status.",
                choices=("pending", "expired", "sending", "confirmed", "failed", "discarded"),
            ),
            _LIMIT,
        ),
    ),
    Command("drafts show", "Show exactly what a draft would send.", "drafts:show_draft", (_DRAFT,)),
    Command(
        "drafts edit",
        "Change fields of a draft. Nothing is sent.",
        "drafts:edit_draft",
        (_DRAFT, _EDITS),
    ),
    Command(
        "drafts confirm",
        "Send a draft, once. With --edit, send the edited version.",
        "drafts:confirm_draft",
        (
            _DRAFT,
            _EDITS,
            option("seen", "The hash of the version that you read.", "--hash", metavar="HASH"),
        ),
    ),
    Command(
        "drafts discard",
        "Discard a draft. Nothing is sent.",
        "drafts:discard_draft",
        (_DRAFT, _REASON),
    ),
    Command(
        "drafts redraft",
        "Create a new draft with the same content.",
        "drafts:repeat_draft",
        (_DRAFT,),
    ),
    Command(
        "drafts confirm-batch",
        "Send all drafts of a batch, one after the other.",
        "drafts:answer_batch",
        (_BATCH,),
        {"sends": True, "reason": None},
    ),
    Command(
        "drafts discard-batch",
        "Discard all drafts of a batch.",
        "drafts:answer_batch",
        (_BATCH, _REASON),
        {"sends": False},
    ),
)

_QUESTION: Final = Param("text", "A question's id or its first characters.", metavar="QUESTION")
_RULE: Final = Param("text", "A rule's id or its first characters.", metavar="RULE")

_APPROVALS: Final = (
    Command(
        "approvals",
        "List questions that runs are waiting for.",
        "approvals:show_approvals",
        (_LIMIT,),
    ),
    Command(
        "approvals approve",
        "Approve a question, with an answer if it has a form.",
        "approvals:answer_question",
        (
            _QUESTION,
            option("answer", "The answer to its form, for example '{\"day\": 3}'.", metavar="JSON"),
        ),
        {"approved": True},
    ),
    Command(
        "approvals decline",
        "Decline a question.",
        "approvals:answer_question",
        (_QUESTION,),
        {"approved": False, "answer": None},
    ),
    Command("rules", "List standing rules, which approve drafts.", "approvals:show_rules"),
    Command(
        "rules accept",
        "Send drafts that match this rule without asking.",
        "approvals:decide",
        (_RULE,),
        {"what": "accept"},
    ),
    Command(
        "rules refuse",
        "Keep asking. The rule is not proposed again.",
        "approvals:decide",
        (_RULE,),
        {"what": "decline"},
    ),
    Command(
        "rules withdraw",
        "Withdraw a rule. Matching drafts wait for approval again.",
        "approvals:decide",
        (_RULE,),
        {"what": "withdraw"},
    ),
)

_CONSENT: Final = Param(
    "text",
    "A consent's id, or the id or name of its automation. The first characters of an id are "
    "enough.",
    metavar="CONSENT",
)
_DIGEST: Final = option(
    "digest", "The digest that --json shows. Required with a token.", metavar="HEX"
)

_CONSENTS: Final = (
    Command(
        "consents",
        "List automations that need your consent.",
        "consents:show_consents",
        (_LIMIT,),
    ),
    Command(
        "consents list",
        "List automations that need your consent.",
        "consents:show_consents",
        (_LIMIT,),
    ),
    Command(
        "consents show",
        "Show what an automation would be allowed to do.",
        "consents:show_consent",
        (_CONSENT,),
    ),
    Command(
        "consents agree",
        "Agree to exactly what is shown.",
        "consents:answer_consent",
        (_CONSENT, _DIGEST, flag("activate", "Also activate the automation.")),
        {"agree": True},
    ),
    Command(
        "consents refuse",
        "Refuse. The automation stays paused.",
        "consents:answer_consent",
        (_CONSENT, _DIGEST),
        {"agree": False},
    ),
)

COMMANDS: Final = (*_EVENTS, *_INBOX, *_DRAFTS, *_APPROVALS, *_CONSENTS)
