"""Source code, read as Python reads it."""

import ast


def parsed(source: str) -> ast.Module:
    """Parse source code. In Python 3.11, another thread that does so at the same time can make it fail for once."""
    while True:
        try:
            return ast.parse(source)
        except SystemError:
            continue
