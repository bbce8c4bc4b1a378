"""The head of the audit log: a message that shows later whether somebody cut the log or wrote it anew."""

title = "Head of the audit log: {:,} lines".format
