"""The policy file, read into rules. Pure."""
