import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import simulated_job


def pytest_collection_modifyitems(items):
    missing = [p for p in (simulated_job.LIBRARY, simulated_job.PRELOAD, simulated_job.SIMULATOR / "env.json")
               if not p.exists()]
    if missing:
        pytest.exit(f"build first (STOWAGE_BUILD names the folder): no {missing[0]}", returncode=2)
