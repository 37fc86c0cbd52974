"""Writes the names of all functions that CUPTI numbers, by number, from the headers that list them.

Usage: generate_api_names.py <output.h> <cupti_driver_cbid.h> <cupti_runtime_cbid.h>
"""
import pathlib
import re
import sys

ID = re.compile(r"^\s*CUPTI_(?:DRIVER|RUNTIME)_TRACE_CBID_(\w+)\s*=\s*(\d+),", re.M)
HEAD = """// Made by generate_api_names.py from CUPTI's headers.
#include <cstdint>
#include <utility>

namespace stowage::simulator {
"""


def table(name: str, header: str) -> str:
    found = [(number, text) for text, number in ID.findall(pathlib.Path(header).read_text())
             if text not in ("INVALID", "SIZE")]
    if len(found) < 100:
        sys.exit(f"{header} lists functions in a way that generate_api_names.py does not know: adapt it")
    rows = "\n".join(f'    {{{number}, "{text}"}},' for number, text in found)
    return f"constexpr std::pair<std::uint32_t, const char*> {name}[] = {{\n{rows}\n}};\n"


def main():
    output, driver, runtime = sys.argv[1:]
    tables = table("kDriverFunctions", driver) + table("kRuntimeFunctions", runtime)
    pathlib.Path(output).write_text(f"{HEAD}{tables}}}  // namespace stowage::simulator\n")


if __name__ == "__main__":
    main()
