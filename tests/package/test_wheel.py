"""pip install: whose torch the build takes, what it says where something is missing, and that what is installed works.

The quick form installs what the build folder holds as a wheel would. STOWAGE_WHEEL_TESTS=1 also builds the wheel from a
clone, with pip and build isolation (from the network: scikit-build-core) and without; that takes minutes.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import venv

import pytest

from tests.environment import without
from tests.python.doors import JOB, ROOT, digest
from tests.style.files import build_folder

sys.path.insert(0, str(ROOT / "cmake"))
import wheel_backend  # noqa: E402

TORCH_SITE = next(pathlib.Path(path) for path in sys.path if (pathlib.Path(path) / "torch" / "version.py").exists())


def clean(**settings: str) -> dict[str, str]:
    return without("STOWAGE", "PYTHON", "VIRTUAL_ENV") | {"OMP_NUM_THREADS": "1"} | settings


def environment(folder: pathlib.Path, *, torch: bool = True, pip: bool = False) -> pathlib.Path:
    """A fresh virtual environment that sees torch, but no Stowage; its bin folder."""
    venv.create(folder, with_pip=pip, symlinks=True)
    site = next((folder / "lib").glob("python3*/site-packages"))
    if torch:
        (site / "torch.pth").write_text(f"{TORCH_SITE}\n")
    return folder / "bin"


def hook(python: pathlib.Path, call: str, **settings: str) -> subprocess.CompletedProcess:
    """Calls the build backend as pip does: in a process of that environment's Python."""
    program = (f"import sys; sys.path[:0] = [{str(ROOT / 'cmake')!r}, {str(TORCH_SITE)!r}]\n"
               f"import wheel_backend; sys.path.remove({str(TORCH_SITE)!r}); print(wheel_backend.{call})")
    return subprocess.run([python, "-c", program], env=clean(**settings), cwd=ROOT, text=True, capture_output=True)


@pytest.fixture(scope="module")
def with_torch(tmp_path_factory):
    return environment(tmp_path_factory.mktemp("with_torch") / "env")


@pytest.fixture(scope="module")
def without_torch(tmp_path_factory):
    return environment(tmp_path_factory.mktemp("without_torch") / "env", torch=False)


def located(python: pathlib.Path, **settings: str) -> str:
    done = hook(python, "located().stdout", **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(";")[1]


def test_the_build_takes_the_torch_of_the_environment_that_is_installed_into(with_torch):
    assert located(with_torch / "python") == str(TORCH_SITE / "torch")


def test_the_build_sees_it_behind_pips_isolation_too(with_torch, tmp_path):
    hiding = f"import sys\nsys.path[:] = [p for p in sys.path if p != {str(TORCH_SITE)!r}]\n"
    (tmp_path / "sitecustomize.py").write_text(hiding)
    assert located(with_torch / "python", PYTHONPATH=str(tmp_path)) == str(TORCH_SITE / "torch")


def test_another_front_end_s_environment_is_traced_back_to_its_callers(with_torch, without_torch):
    active = str((with_torch / "python").parents[1])
    program = f"import subprocess, sys; sys.exit(subprocess.call([{str(without_torch / 'python')!r}, *sys.argv[1:]]))"
    code = (f"import sys; sys.path.insert(0, {str(ROOT / 'cmake')!r})\n"
            "import wheel_backend; print(wheel_backend.located().stdout)")
    done = subprocess.run(["bash", "-c", '"$0" "$@"; true', sys.executable, "-c", program, "-c", code], text=True,
                          env=clean(VIRTUAL_ENV=active), capture_output=True, cwd="/")
    assert str(TORCH_SITE / "torch") in done.stdout, done.stderr


def test_a_python_can_be_named(without_torch, with_torch):
    assert located(without_torch / "python", STOWAGE_PYTHON=str(with_torch / "python")) == str(TORCH_SITE / "torch")


def test_no_torch_is_one_error_that_says_what_to_do(without_torch):
    done = hook(without_torch / "python", "located()", STOWAGE_PYTHON=str(without_torch / "python"))
    assert done.returncode == 1 and len(done.stderr.split("\n\n")) <= 2
    assert "stowage: error: no torch was found" in done.stderr and "STOWAGE_PYTHON=" in done.stderr


def test_what_isolation_would_fetch_is_named_at_once(with_torch, tmp_path):
    for tool in ("g++", "cc"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    done = hook(with_torch / "python", "prepare_metadata_for_build_wheel('.')", PATH=str(tmp_path))
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert "run first: pip install " in done.stderr and "ninja" in done.stderr, done.stderr


def test_no_compiler_is_one_error_that_names_all_packages(with_torch, tmp_path):
    done = hook(with_torch / "python", "check_compiler()", PATH=str(tmp_path))
    assert done.returncode == 1 and "there is no C++ compiler" in done.stderr
    for package in ("g++", "libtbb-dev", "liblpsolve55-dev", "flatbuffers-compiler", "nlohmann-json3-dev"):
        assert package in done.stderr
    assert "libgtest-dev" not in done.stderr


def test_missing_libraries_are_one_error_of_cmake_that_names_their_packages(tmp_path):
    listed = tmp_path / "CMakeLists.txt"
    listed.write_text("cmake_minimum_required(VERSION 3.25)\nproject(probe LANGUAGES CXX)\nset(STOWAGE_FLATC OFF)\n"
                      f"set(STOWAGE_ZSTD_INCLUDE OFF)\ninclude({ROOT / 'cmake' / 'StowageDependencies.cmake'})\n")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build"], text=True, capture_output=True)
    assert done.returncode != 0 and done.stderr.count("CMake Error") == 1
    assert "apt-get install flatbuffers-compiler libzstd-dev" in " ".join(done.stderr.split())


def test_a_torch_without_cuda_needs_no_headers(tmp_path):
    torch = tmp_path / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "__init__.py").write_text("")
    (torch / "version.py").write_text("cuda: Optional[str] = None\n")
    (tmp_path / "torch-9.9.dist-info").mkdir()
    (tmp_path / "torch-9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
    locate = [sys.executable, ROOT / "cmake" / "locate_torch.py"]
    settings = clean(PYTHONPATH=str(tmp_path), CUDA_HOME=str(tmp_path))
    done = subprocess.run(locate, env=settings, text=True, capture_output=True)
    assert done.stdout.strip() == f"9.9;{torch};1;none", done.stderr
    (torch / "lib" / "libc10_cuda.so").write_text("")
    (torch / "version.py").write_text("cuda: Optional[str] = '99.1'\n")
    done = subprocess.run(locate, env=settings, text=True, capture_output=True)
    if done.returncode != 0:  # no toolkit on this machine
        assert done.returncode == 3 and "pip install nvidia-cuda-crt==99.1.* nvidia-cuda-cccl==99.1.*" in done.stderr


@pytest.mark.parametrize("answer, wheels", [
    ("CUDA's header nv/target was not found; run: /x/python -m pip install a==13.0.* b==13.0.*", ["a==13.0.*", "b==13.0.*"]),
    ("", [])])
def test_headers_that_torch_lacks_are_asked_for(answer, wheels):
    done = subprocess.CompletedProcess([], 3 if answer else 0, "", answer)
    assert wheel_backend.header_wheels(done) == wheels


def readme_lines_work(scripts: pathlib.Path, folder: pathlib.Path) -> None:
    """README's ways in, with what is installed: the job is planned and has the bits of the job without Stowage."""
    (folder / "train.py").write_text(JOB)
    settings = clean(PATH=f"{scripts}:{os.environ['PATH']}", STOWAGE_PLAN_WAIT_MS="60000", STOWAGE_DEVICES="cpu")

    def run(command: str, **more: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-c", command], env=settings | more, cwd=folder, text=True, capture_output=True)

    plain = digest(run("python train.py"))
    for command in ("STOWAGE=1 python train.py", "LD_PRELOAD=$(stowage preload) python train.py", "stowage run train.py"):
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        assert digest(run(command, STOWAGE_REPORT=str(report))) == plain, command
        assert json.loads(report.read_text())["state"] == "planned", command
    assert str(folder) not in run("stowage preload").stderr
    found = run("stowage doctor")
    elsewhere = found.stdout.replace(str(folder), "")  # the folder itself may lie in the checkout's build folder
    assert found.returncode == 0 and str(ROOT) not in elsewhere and "entry point     yes" in found.stdout, found.stdout
    assert "Usage" in run("stowage replay --help").stdout
    (folder / "cuda.py").write_text("import torch; print(torch.ones(2, device='cuda').device)")
    assert run("stowage dryrun cuda.py").stdout.startswith("cuda:0")


def test_what_a_wheel_holds_works_in_a_fresh_environment(tmp_path):
    scripts = environment(tmp_path / "env")
    site = next((tmp_path / "env" / "lib").glob("python3*/site-packages"))
    shutil.copytree(ROOT / "python" / "stowage", site / "stowage", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["cmake", "--install", build_folder(), "--component", "wheel", "--strip", "--prefix", site / "stowage"],
                   check=True, capture_output=True)
    subprocess.run([sys.executable, ROOT / "tools" / "link_package.py", "--into", site], check=True)
    (scripts / "stowage").write_text(f"#!{scripts / 'python'}\nimport sys\nfrom stowage.cli import main\nsys.exit(main())\n")
    (scripts / "stowage").chmod(0o755)
    readme_lines_work(scripts, tmp_path)


@pytest.mark.skipif("STOWAGE_WHEEL_TESTS" not in os.environ, reason="minutes; STOWAGE_WHEEL_TESTS=1 runs it")
@pytest.mark.parametrize("isolation", [True, False])
def test_pip_installs_a_clean_clone(isolation):
    folder = build_folder() / "wheel"  # the same at each run, so that a compiler cache knows it
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "clone"], check=True)
    scripts = environment(folder / "env", pip=True)
    options = ["--no-deps", f"--config-settings=build-dir={folder / 'build'}"]
    options += [] if isolation else ["--no-build-isolation"]
    done = subprocess.run([scripts / "python", "-m", "pip", "install", *options, "."], cwd=folder / "clone", env=clean(),
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    readme_lines_work(scripts, folder)
