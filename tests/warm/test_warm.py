"""A program in a fork of the warm process does what it would in a process of its own."""

import os
import re
import signal
import subprocess

import pytest

from tests.environment import without
from tests.python.doors import JOB
from tests.warm import client
from tests.warm.client import ROOT

ENVIRONMENT = without("STOWAGE") | {
    "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "python")}

SHOWS = """
import atexit, os, sys
atexit.register(print, "at exit")
names = sorted(name for name in globals() if not name.startswith("__"))
print(__name__, sys.argv, sys.path[:2], os.getcwd(), os.environ.get("STOWAGE_REPORT"), names)
print("error", file=sys.stderr)
"""
PROGRAMS = {
    "shows": ["-c", SHOWS, "one", "two words"],
    "module": ["-m", "json.tool", "--help"],
    "script": ["examples/char_gpt.py", "--help"],
    "status": ["-c", "import sys; sys.exit(7)"],
    "message": ["-c", "import sys; sys.exit('told')"],
    "exception": ["-c", "def wrong(): raise ValueError('told')\nwrong()"],
    "signal": ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"],
    "nonsense": ["-c", "this is not Python"],
    "job": ["-c", JOB],
}


def cold(*words: str, merged: bool = False, environment: dict[str, str] = ENVIRONMENT) -> subprocess.CompletedProcess:
    return subprocess.run([client.sys.executable, *words], env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT if merged else subprocess.PIPE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_leaves_what_it_leaves_in_a_process_of_its_own(name):
    warm, own = client.run(*PROGRAMS[name], environment=ENVIRONMENT), cold(*PROGRAMS[name])
    assert (warm.returncode, warm.stdout, warm.stderr) == (own.returncode, own.stdout, own.stderr)
    assert own.stdout or own.stderr or own.returncode in (7, -signal.SIGKILL)


def test_standard_error_can_go_the_way_of_standard_output():
    assert "error" in client.run("-c", SHOWS, environment=ENVIRONMENT, merged=True).stdout


def test_stowage_is_there_as_after_import_torch():
    program = JOB + "import stowage; print(stowage.report()['state'])"
    settings = {"STOWAGE": "1", "STOWAGE_DEVICES": "cpu", "STOWAGE_PLAN_WAIT_MS": "60000", "STOWAGE_REPORT": "text"}
    warm, own = (run("-c", program, environment=ENVIRONMENT | settings) for run in (client.run, cold))
    assert warm.stdout == own.stdout and "planned" in warm.stdout
    for done in (warm, own):
        assert re.search("state +planned", done.stderr), done.stderr


def test_one_program_leaves_nothing_to_the_next():
    client.run("-c", "import os, torch; os.environ['LEFT'] = '1'; torch.left = left = 1", environment=ENVIRONMENT)
    program = "import os, torch; print('LEFT' in os.environ, hasattr(torch, 'left'), 'left' in globals())"
    assert client.run("-c", program, environment=ENVIRONMENT).stdout == "False False False\n"


def test_a_program_that_takes_too_long_is_ended():
    program = "import os, time; open(os.environ['STOWAGE_REPORT'], 'w').write(str(os.getpid())); time.sleep(60)"
    with client.tempfile.NamedTemporaryFile("r") as told:
        with pytest.raises(subprocess.TimeoutExpired):
            client.run("-c", program, environment=ENVIRONMENT | {"STOWAGE_REPORT": told.name}, timeout_s=1)
        assert not os.path.exists(f"/proc/{told.read()}/fd")


def test_a_process_of_several_threads_is_refused(monkeypatch):
    monkeypatch.setattr(client, "MODULES", ("tests.warm.with_a_thread",))
    with pytest.raises(RuntimeError, match="2 threads"):
        client.Server(ENVIRONMENT)
