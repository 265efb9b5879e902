"""The engine of each project, as its files and the client's settings want it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warplint.project.config import Config
    from warplint.project.engine import Engine


class Configurations:
    """Makes engines. A configuration that cannot be used, half typed say, leaves the last one that could."""

    def __init__(self, warn: Callable[[str], None], log: Callable[[str], None], trusted: bool) -> None:
        self._warn = warn
        self._log = log
        self._trusted = trusted
        self._interpreter: Callable[[Path], Path | None] = lambda root: None
        self._usable: dict[Path, Config] = {}
        self._broken: set[Path] = set()
        self._without_packs: set[Path] = set()

    def aim(self, interpreter: Callable[[Path], Path | None], roots: Iterable[Path]) -> list[Path]:
        """Take over which interpreter runs the programs of a root; the roots for which it is another now."""
        before, self._interpreter = self._interpreter, interpreter
        return [root for root in roots if before(root) != interpreter(root)]

    def engine(self, root: Path) -> Engine:
        # Imported with the first document, on the worker's thread: ``initialize`` is not kept waiting.
        from warplint.project.config import Config, ConfigError, aimed, load_config
        from warplint.project.torch_target import TorchTargets, installed_for

        interpreter = self._interpreter(root)
        targets = TorchTargets(None if interpreter is None else installed_for(interpreter))
        try:
            config = load_config(root)
            engine = self._with_packs(root, aimed(config, root, targets))
        except ConfigError as error:
            kept = self._usable.get(root, Config(root))
            self._say_broken(root, str(error))
            return self._with_packs(root, aimed(kept, root, targets))
        self._usable[root] = config
        self._broken.discard(root)
        return engine

    def _with_packs(self, root: Path, config: Config) -> Engine:
        """The engine with the rule packs that are configured, where they may be imported and can be."""
        from warplint.project.config import ConfigError
        from warplint.project.engine import Engine

        if config.packs and self._trusted:
            try:
                engine = Engine(root, config, unused=True, packs=True)
            except ConfigError as error:
                reason = str(error)
            else:
                self._without_packs.discard(root)
                return engine
        else:
            reason = f"they are code of {root}, and the editor does not say that you trust it"
        if config.packs and root not in self._without_packs:
            self._without_packs.add(root)
            self._log(f"the rules of {', '.join(config.packs)} are not loaded: {reason}")
        return Engine(root, config, unused=True)

    def _say_broken(self, root: Path, reason: str) -> None:
        """Warn once, however often it is saved while it is being mended."""
        remedy = "The last valid settings stay" if root in self._usable else "The defaults are used"
        say = self._log if root in self._broken else self._warn
        self._broken.add(root)
        say(f"{reason}. {remedy}.")
