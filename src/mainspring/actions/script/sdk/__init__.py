"""The SDK: a TypeScript file with one typed method for each capability that a run may call.

It is generated from the registry, so it lists exactly what can be called here. The same file serves
an editor, a script on a developer's machine, where it uses MCP to call this server, and the
sandbox, where it delegates to the existing host object.
"""
