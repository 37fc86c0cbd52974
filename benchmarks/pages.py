"""A page of figures under docs/results/: which command writes it, when it may, and what its text says of its making.

Each page is written by the command of its name in a folder of benchmarks/, which is run by tools/bench and takes these
options: --write, which writes the page; --out FILE, which writes the text elsewhere; --quick, which only shows that the
command works. What --quick measures, or an option that selects a part, never replaces the page: only --out writes that.
"""

import argparse
import os
import pathlib
import platform

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "results"


class Page:
    """The page that `command`, a path of a Python file, writes; it has that file's name."""

    def __init__(self, command: str):
        self.command = pathlib.Path(command).resolve().relative_to(ROOT)
        self.path = FOLDER / f"{self.command.stem}.md"

    def parser(self, description: str, quick: str) -> argparse.ArgumentParser:
        """With the options that all commands have; `quick` says what --quick leaves."""
        parser = argparse.ArgumentParser(description=description.splitlines()[0])
        parser.add_argument("--write", action="store_true", help=f"write {self.path.relative_to(ROOT)}")
        parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="write the page's text here instead")
        parser.add_argument("--quick", action="store_true", help=f"does it work? {quick}; not for the page")
        return parser

    def parse(self, parser: argparse.ArgumentParser, *selecting: str) -> argparse.Namespace:
        """Ends the process where --write would replace the page by less: with --quick, or with an option of `selecting`
        (by attribute) that is not at its default."""
        options = parser.parse_args()
        less = [name for name in ("quick", *selecting) if getattr(options, name) != parser.get_default(name)]
        if options.write and less:
            parser.error(f"what --{less[0].replace('_', '-')} measures is not for the page; --out FILE writes it elsewhere")
        return options

    def origin(self) -> str:
        """The sentence that the page has below its title."""
        return f"Written by `tools/bench {self.path.stem}`, which runs `{self.command} --write`."

    def write(self, options: argparse.Namespace, text: str) -> None:
        """To where the options say: the page, another file, or nowhere."""
        path = options.out or (self.path if options.write else None)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"written: {path}")


def machine() -> str:
    """The machine in words; ratios travel to another one, absolute times do not."""
    import torch
    model = platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{model}, {len(os.sched_getaffinity(0))} cores, torch {torch.__version__}"


def table(rows: list[tuple[str, ...]]) -> str:
    """Markdown; the first row is the head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
