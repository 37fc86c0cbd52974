"""Nothing in the repository depends on, or tells of, the machine it was written on."""
import re

import pytest

from tests.style.files import ROOT, all_files

# Written so that this file does not contain what it looks for.
MACHINE_PATHS = re.compile(r"(?<![\w.$}])/(?:wo" r"rk|ho" r"me|ro" r"ot|Us" r"ers|mnt|srv)/[\w.]+")
INDEX_OPTIONS = re.compile(r"(?:--|_)(?:extra-)?in" r"dex[-_]url|--tru" r"sted-host|(?:PIP|pip)_(?:EXTRA_)?IN" r"DEX", re.I)
URL_HOST = re.compile(r"https?://([\w.-]+)")
PUBLIC_HOSTS = {
    "github.com", "raw.githubusercontent.com", "pypi.org", "pytorch.org", "download.pytorch.org", "docs.pytorch.org",
    "www.apache.org", "apache.org", "arxiv.org", "docs.nvidia.com", "developer.nvidia.com", "semver.org",
    "keepachangelog.com", "www.w3.org", "doi.org", "en.wikipedia.org", "json-schema.org", "lpsolve.sourceforge.net",
}
IP_ADDRESS = re.compile(r"(?<![\d.])(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?![\d.])")


def complaints(text):
    hosts = {host for host in URL_HOST.findall(text) if host.lower() not in PUBLIC_HOSTS}
    found = [*MACHINE_PATHS.findall(text), *INDEX_OPTIONS.findall(text), *sorted(hosts), *IP_ADDRESS.findall(text)]
    return found


def texts():
    for name in all_files():
        raw = (ROOT / name).read_bytes()
        if b"\0" not in raw[:8192]:
            yield name, raw.decode("utf-8", errors="replace")


def test_no_file_tells_of_a_machine():
    assert {name: found for name, text in texts() if (found := complaints(text))} == {}


@pytest.mark.parametrize("planted", [
    "see /wo" "rk/tree/file", "cd /ho" "me/someone", "pip install --in" "dex-url x", "https:/" "/mirror.invalid/simple",
    "http:/" "/10.1" ".2." "3/simple", "PIP_IN" "DEX=1", "10.1" ".2." "3:80",
])
def test_a_planted_trace_is_found(planted):
    assert complaints(planted) != []


@pytest.mark.parametrize("sound", [
    "docs/work/plan", "https://pytorch.org/docs", "127.0.0.1:80", "torch 2.11.0", "$root/work/x",
])
def test_what_is_harmless_is_not_reported(sound):
    assert complaints(sound) == []
