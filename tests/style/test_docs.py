"""Documents mention only files, links, settings and functions that exist. tests/python/test_documented_options.py does the
same with the options of commands, tests/python/test_documented_commands.py runs the commands."""
import re

import pytest

from tests.style.documents import is_path, missing_anchors, missing_names, missing_paths
from tests.style.files import PARTS, all_files, files, read


@pytest.mark.parametrize("document", files(".md"))
def test_a_document_names_only_what_is_there(document):
    text = read(document)
    assert missing_paths(document, text) == []
    assert missing_anchors(document, text) == []
    assert missing_names(text) == []


def test_every_folder_is_listed():
    folders = {name.split("/")[0] + "/" for name in all_files() if "/" in name}
    assert [folder for folder in sorted(folders) if f"`{folder}`" not in read("CONTRIBUTING.md")] == []
    assert [part for part in PARTS if f"| `{part}/` |" not in read("docs/design.md")] == []


def test_every_page_is_linked():
    texts = {name: read(name) for name in files(".md")}
    linked = {path.rsplit("/", 1)[-1] for text in texts.values() for path in re.findall(r"\]\(([^)#]+\.md)", text)}
    assert [name for name in texts if name.startswith("docs/") and name.rsplit("/", 1)[-1] not in linked] == []


def test_planted_mistakes_are_found():
    planted = ("See `tools/nothing`, `core/gone.h`, `absent.cc`, `docs/results/made-NAME.md`, [this](gone.md) and "
               "[that](docs/design.md#no-such-heading); set `STOWAGE_NO" "SUCH_THING`, call `no_" "such_function()`, "
               "`Session::no_" "such_member` or `stowage.no_" "such(1)`.\n\n```\n"
               "python examples/gone.py --out=core/away.h\n```\n")
    assert missing_paths("README.md", planted) == ["tools/nothing", "core/gone.h", "absent.cc", "docs/results/made-NAME.md",
                                                   "examples/gone.py", "core/away.h", "gone.md"]
    assert missing_anchors("README.md", planted) == ["docs/design.md#no-such-heading"]
    assert missing_names(planted) == ["STOWAGE_NO" "SUCH_THING", "no_" "such_function", "Session::no_" "such_member",
                                      "stowage.no_" "such"]


def test_a_name_that_only_a_test_or_a_macro_has_is_no_setting():
    assert missing_names("set `STOWAGE_DCHECK`") == ["STOWAGE_DCHECK"]


def test_sound_mentions_are_not_reported():
    sound = ("See `core/trace.h`, `trace.h`, `core/`, [rules](CONTRIBUTING.md#rules), `python train.py`, `a/b`, "
             "`peak_live()`, `Session::on_mark`, `.venv/bin/stowage`, `docs/results/gpu-NAME.md`, "
             "`STOWAGE_BUDGET` and `stowage.enable()`.")
    assert missing_paths("README.md", sound) == []
    assert missing_anchors("README.md", sound) == []
    assert missing_names(sound) == []
    assert not is_path("a/b") and not is_path(".cc/.h")
