"""The SDK: a TypeScript file with one typed method for each capability that a run may call.

It is written from the registry, so it says exactly what can be called here. The same file
serves an editor, a script on somebody's own machine, where it speaks MCP to this server, and
the sandbox, where it hands over to what stands there already.
"""
