"""Files and functions stay small; headers say what they are."""
from tests.style.files import cpp_files, files, read
from tests.style.sizes import cpp_functions, python_functions

MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_PRODUCT_FILE = 300
BESIDE_THE_PRODUCT = ("tests/", "benchmarks/", "examples/")
MOST_LINES_OF_A_FUNCTION = 70


def test_files_are_at_most_400_lines():
    sources = files(".h", ".cc", ".c", ".py", ".cmake", ".sh", ".fbs", "CMakeLists.txt")
    assert [name for name in sources if read(name).count("\n") > MOST_LINES_OF_A_FILE] == []


def test_files_of_the_product_are_at_most_300_lines():
    product = [name for name in cpp_files() if not name.startswith(BESIDE_THE_PRODUCT)]
    assert len(product) > 100, "the files were not found"
    assert [name for name in product if read(name).count("\n") > MOST_LINES_OF_A_PRODUCT_FILE] == []


def test_functions_are_at_most_70_lines():
    lengths = [(name, *found) for name in cpp_files() for found in cpp_functions(read(name))]
    lengths += [(name, *found) for name in files(".py") for found in python_functions(read(name))]
    assert len(lengths) > 100, "the functions were not found"
    assert [found for found in lengths if found[2] > MOST_LINES_OF_A_FUNCTION] == []


def included_once(name):
    guard = "STOWAGE_" + name.upper().replace("/", "_").replace(".", "_") + "_"  # for headers in plain C
    text = read(name)
    return "\n#pragma once\n" in text or text.startswith("/*") and f"\n#ifndef {guard}\n#define {guard}\n" in text


def test_headers_open_with_a_comment_and_are_included_once():
    headers = files(".h")
    assert [name for name in headers if not read(name).startswith(("//", "/*"))] == []
    assert [name for name in headers if not included_once(name)] == []


def test_long_functions_are_found():
    body = "  work();\n" * 80
    inside = f"namespace a {{\nclass B {{\n  int c(int d) const {{\n{body}  }}\n}};\n}}  // namespace a\n"
    assert cpp_functions(inside) == [(3, 82)]
    initialised = f"B::B() : c_{{1}}, d_(2) {{\n{body}}}\n"
    assert (1, 82) in cpp_functions(initialised)
    assert cpp_functions("const int kTable[] = {\n" + "1,\n" * 80 + "};\n") == []
    assert cpp_functions('void a() { log("{{{"); /* { */ }\nvoid b() {\n}\n') == [(1, 1), (2, 2)]
    assert list(python_functions("def a():\n" + "    b()\n" * 80)) == [(1, 81)]
