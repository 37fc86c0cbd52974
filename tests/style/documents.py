"""What a document says of the code: paths, links, settings, functions, and whether each of them is there."""
import fnmatch
import functools
import re

from tests.style.files import ROOT, all_files, files, read

FENCE = re.compile(r"```.*?```", re.S)
BACKTICKS = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
SETTING = re.compile(r"\bSTOWAGE_[A-Z][A-Z_]*[A-Z]\b")
MEMBER = re.compile(r"\b([A-Z]\w+)::(\w+)")
PACKAGE = re.compile(r"\bstowage\.([a-z]\w*)\(")
PATH = re.compile(r"\.?[\w-][\w./-]*")
SUFFIXES = (".h", ".cc", ".py", ".md", ".fbs", ".cmake", ".sh", ".txt", ".toml", ".json", ".csv", ".cu")
SOURCES = (".h", ".cc", ".c", ".py", ".cmake", ".sh", ".fbs", "CMakeLists.txt", "tools/setup", "tools/test")
# What a reader has or gets where he runs the documented commands; tests/python/test_documented_commands.py has it, too.
# Numbers stand for any.
READERS_FILES = {"train.py", "problem.csv", "problem.placed.csv", "job.stowtrace", "report.json", "report.rank0.json",
                 "report.pid0.json"}


@functools.cache
def sources():
    return {name: read(name) for name in files(*SOURCES)}


@functools.cache
def words_by_file():
    return [frozenset(re.findall(r"\w+", text)) for text in sources().values()]


@functools.cache
def source_words():
    return frozenset().union(*words_by_file())


@functools.cache
def top_level():
    return frozenset(name.split("/")[0] for name in all_files())


@functools.cache
def ignored_folders():
    """What git leaves out: there after a build."""
    return tuple(line.strip("/\n") for line in read(".gitignore").splitlines() if line.startswith("/"))


@functools.cache
def settings():
    """Environment variables that something reads, and options of the build."""
    text = "\n".join(sources().values())
    tables = "\n".join(read(name) for name in files(".cc", under=("session/settings", "simulator/device/settings")))
    read_by = (r"(?:environ(?:\.get)?\W{1,3}|getenv\(\")(STOWAGE\w+)", r"\"(STOWAGE\w*)\" (?:not )?in os\.environ",
               r"\$(?:ENV)?\{(STOWAGE\w+)", r"(?:option|set)\((STOWAGE\w+)")
    return set(re.findall(r"\"(STOWAGE\w*)\"", tables)).union(*(re.findall(pattern, text) for pattern in read_by))


def code(text):
    """Code in line, and the lines of code blocks."""
    blocks = [line for block in FENCE.findall(text) for line in block.split("\n")[1:-1]]
    indented = re.findall(r"^ {4}(\S.*)$", FENCE.sub("", text), re.M)
    return BACKTICKS.findall(FENCE.sub("", text)) + blocks + indented


def exists(document, path):
    """A path from the root, beside the document, or of any file or folder that ends so; or one that a build or a tool
    makes."""
    if (ROOT / path).exists() or (ROOT / document).parent.joinpath(path).exists():
        return True
    if re.sub(r"\d+", "0", path) in READERS_FILES:
        return True
    if any(fnmatch.fnmatch(path.split("/")[0], folder) for folder in ignored_folders()):
        return True
    if "NAME" in path:  # a tool fills it in
        made = re.escape(path.rsplit("/", 1)[-1]).replace("NAME", r"\{\w+\}")
        return any(re.search(made, text) for text in sources().values())
    end = path if path.startswith(".") else "/" + path
    return any(name.endswith(end) or f"/{path}" in name and path.endswith("/") for name in all_files())


def is_path(token):
    if re.fullmatch(r"\.\w+(/\.\w+)*", token) or not PATH.fullmatch(token):  # a suffix; no path
        return False
    return token.endswith((*SUFFIXES, "/")) or "/" in token and token.split("/")[0] in top_level()


def missing_paths(document, text):
    words = [word.strip("\"',;:()") for piece in code(text) for word in piece.split()]
    tokens = [word.partition("=")[2] if "=" in word else word for word in words]
    links = [path for path, _ in LINK.findall(text) if path and not path.startswith(("http://", "https://", "mailto:"))]
    return [path for path in dict.fromkeys([word for word in tokens if is_path(word)] + links) if not exists(document, path)]


def anchors(text):
    """As GitHub names a document's headings."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def missing_anchors(document, text):
    found = []
    for path, anchor in LINK.findall(text):
        target = (ROOT / document).parent / path if path else ROOT / document
        if anchor and not path.startswith("http") and target.exists() and anchor not in anchors(target.read_text()):
            found.append(f"{path}#{anchor}")
    return found


def missing_names(text):
    """Settings that nothing reads; functions, members and functions of the package that no source has."""
    inline = BACKTICKS.findall(FENCE.sub("", text))
    functions = [name for piece in inline for name in re.findall(r"(\w+)\(\)$", piece)]
    members = [pair for piece in inline for pair in MEMBER.findall(piece)]
    package = [name for piece in code(text) for name in PACKAGE.findall(piece)]
    return ([name for name in SETTING.findall(text) if name not in settings()]
            + [name for name in functions if name not in source_words()]
            + [f"{owner}::{name}" for owner, name in members if not is_member(owner, name)]
            + [f"stowage.{name}" for name in package if f'"{name}"' not in read("python/stowage/__init__.py")])


def is_member(owner, name):
    return any({owner, name} <= words for words in words_by_file())
