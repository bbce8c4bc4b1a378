"""Text of others: written so that nothing in it hides, and compared as people see it. Pure."""
