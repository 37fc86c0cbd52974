"""Every option that a document gives to a command is one of that command: its --help has it."""

import re

import pytest

from tests.python.documented import in_text
from tests.python.doors import ROOT
from tests.python.helps import OPTION, OURS, Call, calls, help_of, mistakes
from tests.style.documents import BACKTICKS, FENCE, READERS_FILES
from tests.style.files import files, read


def commands_in(text: str, folder: str = "") -> list[Call]:
    """`folder`: of the document, beside which a script may lie."""
    found = [call for line in sorted(in_text(text)) for call in calls(line) if call.command[0] not in READERS_FILES]
    beside = {name: f"{folder}/{name}".lstrip("/") for name in {call.command[0] for call in found}
              if (ROOT / folder / name).is_file()}
    return [Call((beside.get(call.command[0], call.command[0]), *call.command[1:]), call.arguments) for call in found]


def unknown_options(text: str, folder: str = "") -> list[str]:
    """Options of commands that these do not know, and options without a command that no command of ours or of the text
    knows."""
    found = commands_in(text, folder)
    wrong = [mistake for call in found for mistake in mistakes(call)]
    alone = [piece for piece in BACKTICKS.findall(FENCE.sub("", text)) if OPTION.match(piece)]
    commands = {*OURS, *(call.command for call in found)}
    for option in sorted({piece.split()[0].partition("=")[0] for piece in alone}):
        if not any(option in OPTION.findall(help_of(command)) for command in commands):
            wrong.append(option)
    return wrong


@pytest.mark.parametrize("document", [name for name in files(".md") if re.search(r"\s--[a-z]|`--[a-z]|-D\w", read(name))])
def test_a_document_gives_commands_only_options_that_they_have(document):
    assert unknown_options(read(document), document.rpartition("/")[0]) == []


@pytest.mark.parametrize("command", OURS)
def test_our_commands_say_how_they_are_used(command):
    assert command[-1] in help_of(command)


@pytest.mark.parametrize("planted, wrong", [
    ("`stowage run --bugdet 1GiB train.py`", ["--bugdet"]),
    ("`stowage runs train.py`", ["stowage runs"]),
    ("```\ntools/test --qick\n```", ["--qick"]),
    ("    cmake -S . -B build -DSTOWAGE_NO_SUCH=ON", ["STOWAGE_NO_SUCH"]),
    ("`cmake --preset nosuch`", ["nosuch"]),
    ("`stowage run examples/char_gpt.py --iteration 3`", ["--iteration"]),
    ("`stowage place a.csv --capacity 1GiB` and `--no-such-option 3`", ["--no-such-option"]),
    ("`python examples/gone.py --x`", ["examples/gone.py"]),
])
def test_a_planted_mistake_is_found(planted, wrong):
    assert unknown_options(planted) == wrong


def test_options_of_a_readers_own_script_are_his():
    assert unknown_options("`A=1 stowage run --budget 1GiB train.py --my-args`") == []
