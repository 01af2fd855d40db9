"""``python -m climanchor``: the same as the command ``climanchor``."""

import sys

from climanchor.cli import main

sys.exit(main())
