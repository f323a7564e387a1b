"""Connections: the servers outside whose tools a workspace may use.

``rows`` keeps where they are and how they fare, ``sign_ins`` whoever has been sent to sign in
there, ``tool_rows`` what tools they have.
"""
