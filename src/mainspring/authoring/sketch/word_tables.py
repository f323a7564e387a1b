"""Word tables of the rules: verbs, objects and targets."""

from __future__ import annotations

from typing import Final


def split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


THINK: Final = split_words(
    "summarise summarize sum classify categorise categorize triage draft decide extract translate "
    "compare rank analyse analyze prioritise prioritize rewrite compose explain count generate "
    "suggest identify highlight group evaluate condense digest answer pick choose assess label "
    "sort detect judge score estimate outline brainstorm propose shorten proofread spot figure "
    "recap work transcribe distil distill cluster tag rate filter calculate compute research "
    "investigate tally total turn convert prepare phrase thank congratulate greet apologise reply "
    "respond anonymise anonymize guess redact format improve polish simplify flag predict forecast "
    "determine"
)
READ: Final = split_words(
    "read fetch get check look pull download load list find search gather collect watch monitor "
    "scan review take retrieve grab query go see browse"
)
SAY: Final = split_words(
    "post send share message announce deliver forward push write dm publish drop say"
)
MAIL: Final = split_words("email e-mail mail")
TELL: Final = split_words(
    "tell notify remind alert warn ping inform nudge let show give keep report raise telegram leave"
)
KEEP: Final = split_words(
    "add append log record insert put save store write create make update change mark set export "
    "keep file enter note collect track register fill archive copy"
)
CALL: Final = split_words("call hit invoke trigger request post send ping notify forward push put")
PUBLISH: Final = split_words("publish emit fire raise send announce")
WAIT: Final = split_words("wait pause sleep")
RUN: Final = split_words("run start launch kick trigger")
# Verbs that need an available tool.
OTHER: Final = split_words(
    "open close assign delete remove merge move book invite upload comment react approve "
    "reject label schedule cancel refund charge order ship deploy restart rotate sync import "
    "resolve reopen subscribe unsubscribe star pin lock transfer pay buy submit complete reply "
    "respond escalate attach rename enrich validate verify lookup tweet retweet print purge erase "
    "wipe install"
)
# Verbs that pass content on in full.
WHOLLY: Final = split_words("forward save store copy export archive")
# Actions without a rule: they need a tool.
DEEDS: Final = OTHER - split_words(
    "validate verify lookup enrich escalate complete reply respond label schedule resolve react"
)
# Irreversible actions: their object is never guessed.
FINAL: Final = split_words(
    "delete remove archive cancel refund charge pay buy transfer close merge reject unsubscribe "
    "deploy restart rotate lock purge erase wipe"
)
# External services that only their own tool can reach.
OUTSIDE: Final = split_words(
    "jira trello asana notion dropbox hubspot salesforce zendesk twitter facebook linkedin "
    "instagram whatsapp teams discord sms signal mattermost fax github gitlab linear figma "
    "airtable mailchimp confluence todoist evernote onedrive sharepoint youtube reddit spotify "
    "excel xero quickbooks intercom freshdesk pipedrive clickup basecamp wordpress bluesky "
    "mastodon tiktok snowflake bigquery s3 servicenow pagerduty"
)
# As the first word of a clause these start an instruction.
VERBS: Final = (
    THINK | READ | SAY | MAIL | TELL | KEEP | CALL | PUBLISH | WAIT | RUN | OTHER
) - split_words("total order star file")
# After these words a verb is a noun: the report, a new email.
BEFORE_NOUN: Final = split_words(
    "a an the new each every any my our your his her their this that these those of latest recent "
    "open unread last next one another some all no type daily weekly monthly first important by "
    "via per support customer sales incoming as with from in fresh urgent more which more's whose "
    "yesterday's today's is are was were be been it its and/or short brief quick long single final "
    "main blog status incident full friendly"
)
# Words that are as often nouns as verbs.
AMBIGUOUS: Final = split_words(
    "email mail note post report draft log list call message review label tag copy search check "
    "show record score rank count answer reply store share request work rate group order book "
    "comment filter schedule import plan change update forward digest total brief"
)
LEADING: Final = split_words(
    "please i want know would like you to should could can must need it we i'd kindly just "
    "also and "
    "then automatically always help me us is that he she they will shall have so now first next "
    "finally afterwards after immediately"
)
BULLETS: Final = split_words(
    "bullet bullets points point bulletpoints takeaways lines highlights items"
)
THINK_NOUNS: Final = split_words(
    "summary summaries digest overview recap report briefing brief analysis draft reply "
    "translation "
    "bullet bullets points highlights comparison ranking takeaways insights suggestions ideas plan "
    "newsletter answer conclusion trends themes sentiment category categories classification "
    "table wrap-up roundup round-up rundown synopsis abstract tldr agenda review "
    "description verdict "
    "recommendation recommendations explanation headline haiku poem joke quote tip"
)
# Things that are pages, by the type integrations give them; None: any type.
PAGE_NOUNS: Final[dict[str, str | None]] = {
    "page": None,
    "pages": None,
    "document": None,
    "documents": None,
    "doc": None,
    "docs": None,
    "file": None,
    "files": None,
    "article": None,
    "articles": None,
    "pdf": None,
    "pdfs": None,
    "upload": None,
    "uploads": None,
    "wiki": None,
    "content": None,
    "contents": None,
    "note": "note",
    "notes": "note",
    "email": "email",
    "emails": "email",
    "e-mail": "email",
    "e-mails": "email",
    "mail": "email",
    "mails": "email",
    "inbox": "email",
    "pr": "gh_pr",
    "prs": "gh_pr",
    "chat": "chat_session",
    "chats": "chat_session",
}
CALENDAR: Final = split_words("calendar meetings appointments agenda")
PAGE_TARGETS: Final = split_words("page note document doc wiki")
FILE_TARGETS: Final = split_words("file csv markdown artifact json txt html")
FILE_ENDS: Final = {
    "csv": "csv",
    "markdown": "md",
    "json": "json",
    "txt": "txt",
    "html": "html",
    "md": "md",
}
PRONOUNS: Final = split_words("it them this that these those everything result results all one")
NUMBERS: Final = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "dozen": 12,
}
SERVICES: Final = split_words(
    "github gitlab stripe shopify ci jenkins zapier jira linear hubspot typeform calendly twilio "
    "paypal sentry pagerduty bitbucket circleci zendesk intercom webhook alertmanager grafana"
)
SENDERS: Final = SERVICES | split_words(
    "slack form website api system server service backend app shop site"
)
SYNONYMS: Final[dict[str, str]] = {
    "ticket": "issue",
    "bug": "issue",
    "make": "create",
    "open": "create",
    "add": "create",
    "raise": "create",
    "file": "create",
    "new": "create",
    "look": "search",
    "find": "search",
    "get": "search",
    "fetch": "search",
    "lookup": "search",
    "remove": "delete",
    "mail": "email",
    "e-mail": "email",
    "change": "update",
    "edit": "update",
    "pr": "pull",
    "reply": "comment",
    "respond": "comment",
    "query": "search",
    "list": "search",
    "read": "search",
}
STOP: Final = split_words(
    "a an the to of in on at for from with and or it its is are be this that these those i me my "
    "we us our you your they them their as by into onto new each every all any some then there so "
    "please pls plz also when if not no was were has have had do does did one here up out about"
)
