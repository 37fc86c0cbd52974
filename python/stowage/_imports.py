"""Something to do once a module of PyTorch is there, which nobody needs to load for it: now, or right after its import."""

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls `action` with the module `name`: at once if it is loaded, else when it has been. cancel() ends the waiting."""

    def __init__(self, name: str, action: Callable):
        self._name, self._action, self._looking = name, action, False
        if name in sys.modules:
            action(sys.modules[name])
        else:
            sys.meta_path.insert(0, self)

    def cancel(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name, path=None, target=None):
        if name != self._name or self._looking:
            return None
        self._looking = True  # the others are asked
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking = False
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_act(module):
            load(module)
            if self in sys.meta_path:
                self.cancel()
                self._action(module)
        spec.loader.exec_module = load_and_act
        return spec
