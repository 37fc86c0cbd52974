"""What recording costs a job, and what it costs a job whose iterations never repeat.

    python benchmarks/session/recording.py            # its figures
    python benchmarks/session/recording.py --quick    # does it work?
    python benchmarks/session/recording.py --write    # and writes docs/results/recording.md

The job is the character GPT of examples/. Two processes, one plain and one with Stowage, take turns on one core each,
some iterations at a time, so that both see the same machine.
  recording  fixed length; one tiny allocation differs (in both) but for two in six iterations that agree: ops are
             written down in the four that follow, and it never settles
  random     a random sequence length in each iteration: nothing to plan, the session gives up
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import torch
from torch.nn import functional as F

from benchmarks import paired
from benchmarks.pages import Page, ROOT, machine, table
from examples import char_gpt
from tests.zoo import harness, simulated

PAGE = Page(__file__)
RECORDING_BAR = 1.10
SPEED_BAR = 0.95
ITERATIONS = 150  # of a job whose iterations differ
GIVEN_UP = 60  # of these; the session is off by then
ALIKE, UNLIKE = 2, 4  # iterations that agree, and then do not: as many as ops are written down in
CYCLES = 6  # of those; the session writes down ops for 32 iterations that do not settle


class Job:
    """char_gpt's loop, one iteration at a time. `random`: of random length, else with a tiny odd allocation."""

    def __init__(self, device: str, random: bool):
        torch.manual_seed(1)
        torch.set_num_threads(1)
        self.device, self.random, self.number = device, random, 0
        text = char_gpt.read_corpus(200_000)
        vocabulary = sorted(set(text))
        index = {character: number for number, character in enumerate(vocabulary)}
        self.corpus = torch.tensor([index[character] for character in text])
        self.draw = torch.Generator().manual_seed(1)
        # The example's own size where recording is weighed; smaller where 150 iterations are run many times.
        layers, width, self.batch = (2, 64, 4) if random else (4, 128, 8)
        self.model = char_gpt.CharGpt(len(vocabulary), layers, width, 4, 128, 0.1).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def step(self) -> None:
        self.number += 1
        length = int(torch.randint(32, 129, (), generator=self.draw)) if self.random else 128
        alike = not self.random and self.number % (ALIKE + UNLIKE) == 2
        odd = torch.empty(128 * (self.number - alike), device=self.device)
        ids, targets = char_gpt.draw_batch(self.corpus, self.batch, length, self.draw)
        logits = self.model(ids.to(self.device))
        loss = F.cross_entropy(logits.flatten(0, 1), targets.to(self.device).flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        loss.item()
        del odd


def child(arguments: argparse.Namespace) -> None:
    """Runs as many iterations as each line of the input says and answers with their times; at the end, the report."""
    if arguments.with_stowage:
        import stowage
        stowage.enable(devices="cpu" if arguments.device == "cpu" else "cuda", online=0)
    job = Job("cpu" if arguments.device == "cpu" else "cuda", arguments.random)
    for line in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(int(line)):
            job.step()
        print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]), flush=True)
    print(json.dumps(stowage.report() if arguments.with_stowage else {}), flush=True)


class Process:
    """A job in a process of its own, with or without Stowage."""

    def __init__(self, device: str, random: bool, with_stowage: bool):
        environment = harness.clean_environment()
        if "STOWAGE_BUILD" in os.environ:
            environment["STOWAGE_BUILD"] = os.environ["STOWAGE_BUILD"]
        if device == "simulated":
            environment |= simulated.environment(base=environment)
        command = [sys.executable, __file__, "--child", "--device", device]
        command += ["--random"] * random + ["--with-stowage"] * with_stowage
        self.process = subprocess.Popen(command, env=environment, cwd=ROOT, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, iterations: int) -> tuple[float, float]:
        """Wall and processor seconds of that many iterations."""
        print(iterations, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"a job failed:\n{self.process.communicate()[1]}")
        return tuple(json.loads(answer))

    def finish(self) -> tuple[dict, list[str]]:
        """The report, and what Stowage said."""
        output, errors = self.process.communicate()
        if self.process.returncode != 0:
            raise SystemExit(f"a job ended with {self.process.returncode}:\n{errors}")
        return json.loads(output.splitlines()[-1]), [line for line in errors.splitlines() if "stowage" in line.lower()]


def ratios(ours: list, baseline: list) -> dict[str, dict]:
    """Of wall and processor time."""
    return {kind: paired.ratio([t[i] for t in ours], [t[i] for t in baseline]) for i, kind in enumerate(("wall", "cpu"))}


def turns(random: bool, device: str, rounds: list[int], warm: int) -> dict:
    """Both processes in turn, as many iterations as each round says: the seconds of each, [wall, processor]."""
    plain, ours = (Process(device, random, with_stowage) for with_stowage in (False, True))
    times = {"plain": [], "ours": []}
    if warm:
        plain.run(warm), ours.run(warm)
    for number, iterations in enumerate(rounds):
        order = [("plain", plain), ("ours", ours)]
        # Changes every second round: rounds may alternate in kind, and each kind is to see both orders.
        for name, process in order if number // 2 % 2 == 0 else reversed(order):
            times[name].append(process.run(iterations))
    plain.finish()
    times["report"], times["said"] = ours.finish()
    return times


def weigh_recording(runs: int) -> dict[str, dict]:
    """Time against plain, with allocations only and with ops too; the first cycle is to warm up."""
    found = {"allocations": {"plain": [], "ours": []}, "ops": {"plain": [], "ours": []}}
    for _ in range(runs):
        times = turns(False, "cpu", [ALIKE, UNLIKE] * (CYCLES - 1), warm=ALIKE + UNLIKE)
        for name in ("plain", "ours"):
            found["allocations"][name] += times[name][::2]
            found["ops"][name] += times[name][1::2]
        if times["report"]["state"] != "recording":
            raise SystemExit(f"the session did not record all along: {times['report']}")
    return {what: ratios(times["ours"], times["plain"]) for what, times in found.items()}


def weigh_random(device: str, runs: int) -> dict[str, dict]:
    """Speed against plain, over a run of ITERATIONS each and over what follows GIVEN_UP; and how the session ended."""
    whole, rest = {"plain": [], "ours": []}, {"plain": [], "ours": []}
    for _ in range(runs):
        times = turns(True, device, [10] * (ITERATIONS // 10), warm=0)
        for sums, first in ((whole, 0), (rest, GIVEN_UP // 10)):
            for name in sums:
                sums[name].append([sum(t[i] for t in times[name][first:]) for i in (0, 1)])
        if times["report"]["state"] != "off" or len(times["said"]) != 1:
            raise SystemExit(f"the session should be off and have said so once: {times['report']}, {times['said']}")
    # Speed is the inverse of time: plain over ours.
    return {"whole": ratios(whole["plain"], whole["ours"]), "rest": ratios(rest["plain"], rest["ours"]),
            "said": times["said"][0]}


def page(recording: dict, random: dict[str, dict]) -> str:
    def row(what: str, found: dict, bar: str) -> tuple[str, ...]:
        return what, paired.text(found["cpu"]), paired.text(found["wall"]), bar

    rows = [("what", "processor time", "wall time", "bar"),
            row("time while ops and allocations are recorded / plain, CPU", recording["ops"], f"≤ {RECORDING_BAR:.2f}"),
            row("time while allocations are recorded / plain, CPU", recording["allocations"], f"≤ {RECORDING_BAR:.2f}")]
    for device, found in random.items():
        rows.append(row(f"speed with random lengths / plain, {device}", found["whole"], f"≥ {SPEED_BAR}"))
        rows.append(row(f"the same after the session gave up, {device}", found["rest"], f"≥ {SPEED_BAR}"))
    return f"""# What recording costs

{PAGE.origin()}

The character GPT of `examples/`, plain and with Stowage in two processes that take
turns. First two rows: the example's own size. A session records allocations until two iterations agree, and then the ops
of what follows too, until it plans; here {UNLIKE} iterations that do not agree follow, so that it never does. Other rows: a
job whose every iteration has another sequence length, over its first {ITERATIONS} iterations, and over those from
{GIVEN_UP + 1} on. The session records allocations only, finds no two iterations alike, stays out of the way and says so
once:

    {next(iter(random.values()))['said']}

{table(rows)}

Median, quartiles and number of pairs. Processor time is that of the whole process, all threads, and depends less on what
else the machine does than wall time. On the simulated device kernels cost nothing, so that its row weighs Stowage against
PyTorch's host work alone, the worst case. Machine: {machine()}.
"""


def main() -> None:
    parser = PAGE.parser(__doc__, quick="one pair of each")
    parser.add_argument("--rounds", type=int, default=4, help="pairs of processes of the recording job")
    parser.add_argument("--runs", type=int, default=7, help="pairs of the job that never repeats")
    for hidden in ("--child", "--random", "--with-stowage"):
        parser.add_argument(hidden, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--device", default="cpu", help=argparse.SUPPRESS)
    arguments = PAGE.parse(parser, "rounds", "runs")
    if arguments.child:
        return child(arguments)
    if arguments.quick:
        arguments.rounds, arguments.runs = 1, 1
    recording = weigh_recording(arguments.rounds)
    random = {device: weigh_random(device, arguments.runs) for device in ("cpu", "simulated")}
    shown = page(recording, random)
    print(shown)
    good = all(found["cpu"]["median"] <= RECORDING_BAR for found in recording.values()) and all(
        found[part]["cpu"]["median"] >= SPEED_BAR for found in random.values() for part in ("whole", "rest"))
    print("within the bars" if good else "A bar is MISSED")
    PAGE.write(arguments, shown)


if __name__ == "__main__":
    main()
