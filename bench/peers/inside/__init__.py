"""What runs inside the environments of the peers; nothing of ours imports it."""
