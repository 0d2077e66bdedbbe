"""`python -m manycaps` is `manycaps`."""

import sys

from .commands.command_line import main

if __name__ == "__main__":
    sys.exit(main())
