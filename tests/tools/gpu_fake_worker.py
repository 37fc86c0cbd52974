"""Answers commands as tools/gpu/worker.py does, without torch: what it is told to say, do or die of."""

import json
import os
import signal
import subprocess
import sys
import time


def answer(found: dict) -> None:
    print("\n@@ " + json.dumps(found), flush=True)


def act(name: str, *values) -> None:
    if name == "say":
        print("a word on standard output")
        answer({"said": values[0], "settings": {key: os.environ.get(key) for key in values[1:]}})
    elif name == "run":
        answer({"seconds": float(os.environ.get("FAKE_SECONDS", "1")) * values[0]})
    elif name == "oom":
        answer({"out_of_memory": "CUDA out of memory. stowage: the budget is used up"})
        sys.exit(0)
    elif name == "raise":
        raise ValueError(values[0])
    elif name == "crash" and "CUDA_LAUNCH_BLOCKING" in os.environ:
        raise RuntimeError("CUDA error: an illegal memory access, in addmm")
    elif name == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif name == "hang":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(f"child {child.pid}", file=sys.stderr, flush=True)
        time.sleep(600)


answer({"built": "fake"})
words = sys.argv[1:]
for command in json.loads(words[words.index("--do") + 1]) if "--do" in words else map(json.loads, sys.stdin):
    act(*command)
