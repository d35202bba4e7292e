"""`python -m scda_command` is the command `scda`."""

import sys

from . import main

sys.exit(main())
