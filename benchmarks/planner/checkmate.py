"""The least recomputation of an iteration within a budget, as a mixed integer program for HiGHS.

It is Checkmate's program (Jain et al., MLSys 2020, with its linear memory rows). The iteration's ops in order are stages:
`run[t, k]` says that op k runs in stage t, again if k < t, and `stays[t, k]` that its result is in memory when stage t
begins. Each op makes one buffer. Within a stage ops run in their own order, and a result may be freed behind any op that
reads it.
"""

import dataclasses

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array


@dataclasses.dataclass
class Optimum:
    """In microseconds. `least` is None where no schedule was found; then `infeasible` says whether there is none."""
    least: float | None
    bound: float
    infeasible: bool
    proven: bool


class Program:
    """`ops`: each with the buffers that it "reads", the one that it "makes", its "bytes" and "us". `budget`: bytes, without
    what was there before the iteration."""

    def __init__(self, ops: list[dict], budget: float):
        self.ops, self.budget = ops, budget
        maker = {op["makes"]: k for k, op in enumerate(ops)}
        self.reads = [sorted({maker[b] for b in op["reads"] if b in maker}) for op in ops]
        self.readers = [[k for k in range(len(ops)) if i in self.reads[k]] for i in range(len(ops))]
        self.costs, self.most, self.whole, self.rows = [], [], [], []
        stages = range(len(ops))
        self.run = {(t, k): self.variable(ops[k]["us"], whole=True) for t in stages for k in range(t)}
        self.stays = {(t, k): self.variable(0, whole=True) for t in stages for k in range(t)}
        for t in stages:
            self.add_dependencies(t)
            self.add_memory(t)

    def variable(self, cost: float, whole: bool, most: float = 1) -> int:
        self.costs.append(cost)
        self.most.append(most)
        self.whole.append(whole)
        return len(self.costs) - 1

    def row(self, terms: list[tuple[int, float]], least: float = -np.inf, most: float = np.inf) -> None:
        self.rows.append((terms, least, most))

    def add_dependencies(self, t: int) -> None:
        for k in range(t + 1):
            for i in self.reads[k]:
                there = [(self.run[t, i], 1), (self.stays[t, i], 1)]
                self.row(there + ([(self.run[t, k], -1)] if k < t else []), least=0 if k < t else 1)
        for k in range(t):
            self.row([(self.run[t, k], 1), (self.stays[t, k], 1)], most=1)
            if t + 1 < len(self.ops):
                self.row([(self.stays[t + 1, k], 1), (self.stays[t, k], -1), (self.run[t, k], -1)], most=0)

    def add_memory(self, t: int) -> None:
        """What is held while each op of the stage runs: what stays, what the stage made, less what it freed."""
        held = [(self.stays[t, k], self.ops[k]["bytes"]) for k in range(t)]
        for k in range(t + 1):
            if k < t:
                held.append((self.run[t, k], self.ops[k]["bytes"]))
            own = self.ops[k]["bytes"] if k == t else 0
            self.row(list(held), most=self.budget - own)
            held += [(self.freed(t, i, k), -self.ops[i]["bytes"]) for i in {*self.reads[k], k} - {t}]

    def freed(self, t: int, i: int, k: int) -> int:
        """1 only if op k runs in stage t and the result of op i is neither read later in it nor kept for the next one."""
        freed = self.variable(0, whole=False, most=0 if k < t and t in self.readers[i] else 1)
        if k < t:
            self.row([(freed, 1), (self.run[t, k], -1)], most=0)
        if t + 1 < len(self.ops):
            self.row([(freed, 1), (self.stays[t + 1, i], 1)], most=1)
        for reader in self.readers[i]:
            if k < reader < t:
                self.row([(freed, 1), (self.run[t, reader], 1)], most=1)
        return freed

    def solve(self, seconds: float) -> Optimum:
        data, columns, starts = [], [], [0]
        for terms, _, _ in self.rows:
            data += [value for _, value in terms]
            columns += [column for column, _ in terms]
            starts.append(len(columns))
        matrix = csr_array((data, columns, starts), shape=(len(self.rows), len(self.costs)), dtype=float)
        matrix.sum_duplicates()
        rows = LinearConstraint(matrix, [row[1] for row in self.rows], [row[2] for row in self.rows])
        done = milp(self.costs, integrality=self.whole, bounds=Bounds(0, self.most), constraints=rows,
                    options={"time_limit": seconds, "mip_rel_gap": 0})
        infeasible = done.status == 2
        bound = 0.0 if infeasible or done.mip_dual_bound is None else max(0.0, float(done.mip_dual_bound))
        least = None if done.x is None else float(done.fun)
        return Optimum(least, bound, infeasible, infeasible or done.status == 0)
