"""The workspace package: automations, boards, pages, people, secrets and connections.

Every table here is scoped by workspace: rows carry ``workspace_id``, indexes start with it, and
row-level security limits each transaction to one workspace.

Higher layers decide when something runs; this package stores the state. Each table is written only
here, with the SQL next to the code that uses it.
"""
