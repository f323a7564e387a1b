"""Mail: the way to the operator's mail server.

The server is read from one URL (``server``). A mail is checked and written down as a
letter before anybody is dialled (``letter``), and the talk with the server follows
(``mailer``); whatever goes wrong in it becomes a problem that says whether trying again
can help (``replies``).

The server is named by the operator and trusted by the operator, so a private address is
fine and the guard on outbound requests has no part in this. A mailbox that is read (``imap``, in
the words of ``imap_talk``) is named by a member, and there the guard has its part.
"""

from mainspring.gate.mail.smtp import SmtpMailer, SmtpServer, read_smtp_url

__all__ = ["SmtpMailer", "SmtpServer", "read_smtp_url"]
