"""One file per framework: `to_request`, `to_resume` and `run`, the same three names in each."""
