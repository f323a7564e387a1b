"""The parts of the fuzz commands: an application to send requests to, callers, and a report."""
