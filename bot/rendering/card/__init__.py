"""The card of a request, and what belongs to it in its thread. Pure."""
