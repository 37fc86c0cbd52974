"""How long functions are, in C++ (by braces) and Python (by syntax tree)."""
import ast
import re

from tests.style.files import without_comments_and_strings

SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()]*$")


def cpp_functions(text):
    """(first line, lines) of each block that stands in a namespace or class and is neither of these nor data."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", without_comments_and_strings(text), flags=re.M)
    # Macros of several lines vanish with their line breaks: count lines in what is left of each, roughly, by keeping them.
    code = without_comments_and_strings(text) if code.count("\n") != text.count("\n") else code
    line, head, depth, opened, open_scopes, found = 1, "", 0, None, [], []
    for character in code:
        if character == "\n":
            line += 1
        if character == "{":
            if opened is None and SCOPE.search(head):
                open_scopes.append(depth)
            elif opened is None:
                opened = (depth, line, head.rstrip().endswith("="))
            depth += 1
        elif character == "}":
            depth -= 1
            if opened is not None and opened[0] == depth:
                if not opened[2]:
                    found.append((opened[1], line - opened[1] + 1))
                opened = None
            elif open_scopes and open_scopes[-1] == depth:
                open_scopes.pop()
        head = "" if character in ";{}" else head + character
    return found


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1
