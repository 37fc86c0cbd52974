"""Makes this repository's package usable in the environment of the Python that runs it, without building a wheel.

    .venv/bin/python python/develop.py

Writes a path file, the package's metadata (for torch's entry point) and the command `stowage`. The library is taken
from the repository's build folder. Safe to run again; `pip uninstall stowage` takes it out.
"""

import base64
import hashlib
import pathlib
import sys
import sysconfig
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def entry_points(project: dict) -> str:
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return "".join(f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items()) + "\n"
                   for group, points in groups.items())


def script(target: str) -> str:
    module, function = target.split(":")
    return f"#!{sys.executable}\nimport sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n"


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    site = pathlib.Path(sysconfig.get_path("purelib"))
    scripts = pathlib.Path(sysconfig.get_path("scripts"))
    info = f"stowage-{project['version']}.dist-info"
    for old in site.glob("stowage-*.dist-info"):
        if old.name != info:
            sys.exit(f"error: another version is installed: {old}; run `pip uninstall stowage` first")
    files = {
        site / "stowage.pth": f"{ROOT / 'python'}\n",
        site / info / "METADATA": f"Metadata-Version: 2.1\nName: stowage\nVersion: {project['version']}\n",
        site / info / "INSTALLER": "stowage python/develop.py\n",
        site / info / "entry_points.txt": entry_points(project),
    } | {scripts / name: script(target) for name, target in project["scripts"].items()}
    rows = []
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(text.encode())}\n")
    (site / info / "RECORD").write_text("".join(rows) + f"{info}/RECORD,,\n")
    for name in project["scripts"]:
        (scripts / name).chmod(0o755)
    print(f"stowage {project['version']} of {ROOT} is usable with {sys.executable}")


if __name__ == "__main__":
    main()
