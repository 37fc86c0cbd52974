"""Documents mention only files, links, settings, commands and functions that exist."""
import functools
import re

import pytest

from tests.style.files import ROOT, all_files, files, read

BACKTICKS = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
SETTING = re.compile(r"\bSTOWAGE_[A-Z][A-Z_]*[A-Z]\b")
PATH = re.compile(r"\.?[\w-][\w./-]*")
SUFFIXES = (".h", ".cc", ".py", ".md", ".fbs", ".cmake", ".sh", ".txt", ".toml", ".json")
SOURCES = (".h", ".cc", ".c", ".py", ".cmake", ".sh", ".fbs", "CMakeLists.txt", "tools/setup", "tools/test")
EXAMPLES = {"train.py", "script.py"}         # a reader's own scripts
OUTPUTS = (".venv", "build", "dist/", "report.")  # there after a build or a job
DESIGNED = {"docs/design.md": {"recompute/", "order/", "schedule/", "tests/conformance/", "tests/regression/"}}


@functools.cache
def source_words():
    return frozenset(re.findall(r"\w+", "\n".join(read(name) for name in files(*SOURCES))))


@functools.cache
def top_level():
    return frozenset(name.split("/")[0] for name in all_files())


def exists(document, path):
    """A path from the root, beside the document, or, without a folder, of any file of that name."""
    if (ROOT / path).exists() or (ROOT / document).parent.joinpath(path).exists():
        return True
    return any(name.endswith("/" + path) or f"/{path}" in name and path.endswith("/") for name in all_files())


def is_path(token):
    if re.fullmatch(r"\.\w+(/\.\w+)*", token):  # a suffix
        return False
    if not PATH.fullmatch(token) or token in EXAMPLES or token.startswith(OUTPUTS) or re.search(r"NAME|/cu\d", token):
        return False
    return token.endswith(SUFFIXES) or token.endswith("/") or "/" in token and token.split("/")[0] in top_level()


def missing_paths(document, text):
    tokens = [word for token in BACKTICKS.findall(text) for word in token.split() if is_path(word)]
    links = [link for link in LINK.findall(text) if not link.startswith(("http://", "https://", "mailto:"))]
    designed = DESIGNED.get(document, set())
    return [path for path in tokens + links if path not in designed and not exists(document, path)]


def missing_names(text):
    """Settings, and functions written as `name()`, that no source has."""
    functions = [found for token in BACKTICKS.findall(text) for found in re.findall(r"(\w+)\(\)$", token)]
    return [name for name in SETTING.findall(text) + functions if name not in source_words()]


def missing_commands(text):
    code = BACKTICKS.findall(text) + "".join(re.findall(r"```.*?```", text, re.S)).split("\n")
    spoken = {found[1] for line in code if (found := re.match(r"(?:\.venv/bin/)?stowage ([a-z][a-z_-]+)", line))}
    known = "\n".join(read(name) for name in files(".py", ".cc", under=("python", "replay")))
    return sorted(word for word in spoken if not re.search(rf"""["']{word}["']""", known))


@pytest.mark.parametrize("document", files(".md"))
def test_a_document_names_only_what_is_there(document):
    text = read(document)
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    assert missing_paths(document, prose) == []
    assert missing_names(text) == []
    assert missing_commands(text) == []


def test_planted_mistakes_are_found():
    planted = ("See `tools/nothing`, `core/gone.h`, `absent.cc` and [this](gone.md); set `STOWAGE_NO" "SUCH_THING`, call "
               "`no_" "such_function()`, run `stowage nonsense-command`.")
    assert missing_paths("README.md", planted) == ["tools/nothing", "core/gone.h", "absent.cc", "gone.md"]
    assert len(missing_names(planted)) == 2
    assert missing_commands(planted) == ["nonsense-command"]


def test_sound_mentions_are_not_reported():
    sound = "See `core/trace.h`, `trace.h`, `core/`, [rules](CONTRIBUTING.md), `python train.py`, `a/b` and `peak_live()`."
    assert missing_paths("README.md", sound) == []
    assert missing_names(sound) == []
