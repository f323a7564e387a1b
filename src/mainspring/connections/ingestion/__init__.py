"""What comes in from integrations: read in portions, kept as pages, told once as events."""
