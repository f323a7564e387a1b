"""Connected: the way out over a member's own account in an outside system.

``lines`` finds the connection that a call goes over, ``visit`` is what one call opened, ``http``
carries its requests and takes care that what lets them in is good, ``tokens`` renews it.
``sign_in`` sends members to a provider and takes them back, and ``reception`` is where people
connect, test and disconnect.
"""
