"""The environment of a job that a test, a benchmark or a tool starts.

A plan that one run keeps would make the next one begin with it: what a job does would depend on what ran before, and tests
would fill the developer's own cache. So whoever drops the settings of Stowage asks for no cache; a test of the cache says
where its own is.
"""

import os

NO_CACHE = {"STOWAGE_PLAN_CACHE": "off"}


def without(*starts: str) -> dict[str, str]:
    """This process's environment without the variables that begin so, and without kept plans."""
    return {name: value for name, value in os.environ.items() if not name.startswith(starts)} | NO_CACHE
