"""What a click opens: forms, the reading, and lists; and what a submitted form means. Pure."""
