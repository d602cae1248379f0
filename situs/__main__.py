"""``python -m situs``: the command line."""

import sys

from situs._src.cli.main import main

sys.exit(main())
