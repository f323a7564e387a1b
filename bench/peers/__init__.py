"""Ours against its peers: same work, same machine, same run, one table."""
