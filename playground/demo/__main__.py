"""`python -m playground.demo`."""

import sys

try:
    from playground.demo.showing import main
except ImportError as error:
    sys.exit(f"{error}: `make demo` installs what the demo needs and shows it")

if __name__ == "__main__":
    sys.exit(main())
