"""What holds for every Python test: jobs that inherit this process's environment keep no plans (tests/environment.py)."""

import os

from tests.environment import NO_CACHE

os.environ.update(NO_CACHE)
