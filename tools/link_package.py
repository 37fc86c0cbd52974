"""Makes the package of this checkout importable in the environment of the Python that runs this, with its commands.

    .venv/bin/python tools/link_package.py [--into FOLDER]

What `pip install --editable` does, without a build and in a blink: a path file, the metadata in which torch finds the
entry point, and the scripts that pyproject.toml declares. --into FOLDER writes metadata only, for use as PYTHONPATH.
"""

import argparse
import pathlib
import sys
import sysconfig
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def entry_points(project: dict) -> str:
    groups = {"console_scripts": project.get("scripts", {})} | project.get("entry-points", {})
    return "".join(f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in names.items()) + "\n"
                   for group, names in groups.items())


def version(settings: dict) -> str:
    """The project's version, which pyproject.toml may leave to CMakeLists.txt."""
    if "version" in settings["project"]:
        return settings["project"]["version"]
    words = (ROOT / "CMakeLists.txt").read_text().split("project(stowage VERSION", 1)[1].split()
    return words[0]


def write_metadata(settings: dict, site: pathlib.Path) -> None:
    project = settings["project"]
    for old in site.glob(f"{project['name']}-*.dist-info"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    info = site / f"{project['name']}-{version(settings)}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version(settings)}\n")
    (info / "INSTALLER").write_text("tools/setup\n")
    (info / "RECORD").write_text("")
    (info / "entry_points.txt").write_text(entry_points(project))


def write_scripts(scripts: dict[str, str], folder: pathlib.Path) -> None:
    for name, target in scripts.items():
        module, function = target.split(":")
        script = folder / name
        script.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
        script.chmod(0o755)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", metavar="FOLDER", type=pathlib.Path)
    arguments = parser.parse_args()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    if arguments.into:
        write_metadata(settings, arguments.into)
        return
    if sys.prefix == sys.base_prefix:
        sys.exit("error: not a virtual environment; use pip install . instead")
    site = pathlib.Path(sysconfig.get_paths()["purelib"])
    (site / "stowage.pth").write_text(f"{ROOT / 'python'}\n")
    write_metadata(settings, site)
    write_scripts(settings["project"].get("scripts", {}), pathlib.Path(sysconfig.get_paths()["scripts"]))


if __name__ == "__main__":
    main()
