"""A process that has imported torch, and forks for each Python program that it is asked to run.

    python -c "from tests.warm import server; server.serve(DESCRIPTOR)"    of a connected socket: client.py starts it so

A request is one message: the JSON of {"words", "environment", "folder", "modules"} with three descriptors, the program's
standard input, output and error, and a fourth, a socket on which its process id and then its exit status are told. The child
runs the program in the module `__main__`, as Python would: it sees its own arguments, environment and folder, and ends
through the interpreter's end. The entry points of torch.backends, which `import torch` calls, are called before it begins.
"""

import array
import gc
import importlib
import json
import os
import runpy
import selectors
import socket
import sys
import traceback

import torch

MOST_BYTES = 1 << 20  # of a request


def receive(connection: socket.socket) -> tuple[bytes, list[int]]:
    """A message and its descriptors; an empty message where the client is gone."""
    descriptors = array.array("i")
    message, found, _, _ = connection.recvmsg(MOST_BYTES, socket.CMSG_LEN(4 * descriptors.itemsize))
    for level, kind, data in found:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data)
    return message, list(descriptors)


def open_files() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/fd")}


def begin(request: dict, descriptors: list[int], libraries_files: set[int]) -> None:
    """Makes the child what a new process of that command would be."""
    for target, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, target)
    for descriptor in open_files() - libraries_files - {0, 1, 2}:
        try:
            os.close(descriptor)
        except OSError:
            pass  # the one that listed them
    os.chdir(request["folder"])
    theirs = request["environment"].get("PYTHONPATH", "").split(":")
    ours = os.environ.get("PYTHONPATH", "").split(":")
    sys.path[1:] = [*filter(None, theirs), *(path for path in sys.path[1:] if path not in ours)]
    importlib.invalidate_caches()
    os.environ.clear()
    os.environ.update(request["environment"])
    if torch._is_device_backend_autoload_enabled():
        torch._import_device_backends()


def execute(words: list[str]) -> None:
    """`python WORDS…`, of which -c PROGRAM, -m MODULE and a script are known."""
    main = sys.modules["__main__"]
    if words[0] == "-m":
        sys.argv, sys.path[0] = words[1:], os.getcwd()
        runpy._run_module_as_main(words[1], alter_argv=True)  # what `python -m` calls
        return
    if words[0] == "-c":
        sys.argv, sys.path[0], name, text = ["-c", *words[2:]], "", "<string>", words[1]
    else:
        sys.argv, sys.path[0], name = list(words), os.path.dirname(os.path.realpath(words[0])), words[0]
        with open(name) as file:
            text = file.read()
        main.__file__ = name
    exec(compile(text, name, "exec"), main.__dict__)


def run(words: list[str]) -> None:
    """Ends as the program does: SystemExit goes on to the interpreter, other exceptions are shown without our frames."""
    try:
        execute(words)
    except SystemExit:
        raise
    except BaseException as error:
        shown = error.__traceback__
        while shown and shown.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
            shown = shown.tb_next
        traceback.print_exception(type(error), error, shown)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


def threads() -> int:
    """Of this process. A fork would have one of them only."""
    return len(os.listdir("/proc/self/task"))


class Children:
    """Forked programs that run, and the sockets on which their ends are told."""

    def __init__(self, selector: selectors.BaseSelector):
        self.selector = selector

    def add(self, child: int, told: socket.socket) -> None:
        told.sendall(str(child).encode())
        self.selector.register(os.pidfd_open(child), selectors.EVENT_READ, (child, told))

    def end(self, key: selectors.SelectorKey) -> None:
        child, told = key.data
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.selector.unregister(key.fd)
        os.close(key.fd)
        with told:
            try:
                told.sendall(str(status).encode())
            except BrokenPipeError:
                pass  # nobody waits any more


def wait_for_request(connection: socket.socket) -> tuple[dict, list[int]]:
    """Returns in a forked child, with what it is to run. The server itself ends where the client is gone."""
    selector = selectors.DefaultSelector()
    selector.register(connection, selectors.EVENT_READ)
    children = Children(selector)
    while True:
        for key, _ in selector.select():
            if key.data is not None:
                children.end(key)
                continue
            message, descriptors = receive(connection)
            if not message:
                os._exit(0)
            request = json.loads(message)
            load(request["modules"])
            assert threads() == 1, request["modules"]
            child = os.fork()
            if child == 0:
                return request, descriptors
            children.add(child, socket.socket(fileno=descriptors.pop()))
            for descriptor in descriptors:
                os.close(descriptor)


def load(modules: list[str]) -> None:
    missing = [module for module in modules if module not in sys.modules]
    for module in missing:
        importlib.import_module(module)
    if missing:
        gc.collect()
        gc.freeze()  # else the first collection of each child would copy every page


def serve(descriptor: int, modules: list[str]) -> None:
    """Imports `modules` and says with how many threads it is ready: only a process of one thread may be forked."""
    connection = socket.socket(fileno=descriptor)
    load(modules)
    libraries_files = open_files() - {descriptor}
    connection.sendall(str(threads()).encode())
    request, descriptors = wait_for_request(connection)
    connection.detach()
    begin(request, descriptors, libraries_files)
    main = sys.modules["__main__"].__dict__
    for name in [name for name in main if not name.startswith("__")]:
        del main[name]
    run(request["words"])
