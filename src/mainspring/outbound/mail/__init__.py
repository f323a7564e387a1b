"""Mail: SMTP to the operator's mail server, IMAP to a member's mailbox.

``smtp`` reads the server's URL, builds the message before anything is dialled, and sends it;
``smtp_errors`` turns a failure into a problem that says whether a retry can help. The operator
names and trusts this server, so a private address is allowed and the egress guard is not used.
``imap`` reads a mailbox that a member named, through the egress guard.
"""

from mainspring.outbound.mail.smtp import SmtpMailer, SmtpServer, read_smtp_url

__all__ = ["SmtpMailer", "SmtpServer", "read_smtp_url"]
