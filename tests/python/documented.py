"""The command lines that documents give: in blocks of code, indented, and in backticks with an argument."""

import re

from tests.style.files import files, read

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROGRAM = r"(?:\.venv/bin/)?(?:stowage|python3?)|pip|cmake|ctest|sudo|tools/\w+|[\w/]+\.py(?= -)"
COMMAND = re.compile(rf"(?:[A-Z_0-9]+=(?:\$\([^)]*\)|\S)* )*(?:{PROGRAM})\s+\S")
TOOL = re.compile(r"tools/\w+$")
NAME_ONLY = re.compile(r"stowage [a-z]+( FILE…?| --budget)?$|stowage( COMMAND)?: ")  # spoken of, and what it prints
ALONE = {"stowage settings", "stowage doctor", "stowage preload"}
# Pages of figures name the command that made them, which takes minutes to hours. That it exists and knows its options is
# for test_documented_options.py.
OTHER = ("docs/results/",)


def without_comment(line: str) -> str:
    return re.split(r"\s+#\s", line)[0].strip()


def in_text(text: str) -> set[str]:
    text = text.replace("\\\n", "")
    prose = FENCE.sub("", text)
    lines = [line for language, body in FENCE.findall(text) if language in ("", "sh") for line in body.splitlines()]
    lines += re.findall(r"^    (\S.*)$", prose, re.MULTILINE)
    lines += [found for found in re.findall(r"`([^`\n]+)`", prose) if found in ALONE or not NAME_ONLY.match(found)]
    commands = {" ".join(without_comment(line).split()) for line in lines}
    return {line for line in commands if COMMAND.match(line) or TOOL.match(line) and f"\n{line}" in text}


def documented() -> dict[str, list[str]]:
    """Documents by command line."""
    found: dict[str, list[str]] = {}
    for name in files(".md"):
        if not name.startswith(OTHER):
            for command in in_text(read(name)):
                found.setdefault(command, []).append(name)
    return found


def python_lines() -> set[str]:
    """Of the blocks of Python that use the package."""
    blocks = [body for name in files(".md") if not name.startswith(OTHER)
              for language, body in FENCE.findall(read(name)) if language == "python"]
    return {without_comment(line) for body in blocks for line in body.splitlines() if "stowage" in line}
