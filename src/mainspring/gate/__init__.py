"""The gate: the policy pipeline that every capability call goes through, and nothing else.

A call passes the same stages in the same order: find the capability, check the grant, check the
arguments, reserve the budget, perform it or hold it as a draft for approval, check the result,
settle the cost, and record the call with its secrets masked. Handlers know none of this, and no
other package calls a capability's handler.

Entry points: ``call.Gate`` and ``callers.CapabilityCaller``. ``pipeline`` has the stages,
``drafts`` and ``draft_sending`` hold and send, ``budget_reservations`` bounds the cost.
"""
