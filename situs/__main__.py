"""``python -m situs``: the command line."""

import sys

from situs.cli.main import main

sys.exit(main())
