"""What this client can do, read once from its ``initialize`` request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lsprotocol import types
from pygls.capabilities import get_capability

OPTIONS = "warplint"
"""The key of ``initializationOptions`` under which a client says what it does for Warplint itself."""


@dataclass(frozen=True, slots=True)
class ClientFeatures:
    """What to rely on; everything is off for a client that says nothing."""

    pulls: bool = False
    """It asks for diagnostics; they are sent to it unasked otherwise."""
    resolves_edits: bool = False
    """It asks for a code action's edit when the user has chosen the action."""
    shows_disabled_actions: bool = False
    refreshes_code_lenses: bool = False
    refreshes_inlay_hints: bool = False
    has_configuration: bool = False
    """It answers ``workspace/configuration``."""
    registers_configuration: bool = False
    """It tells of changed settings once it is asked to."""
    draws: bool = False
    """It draws costs and score itself, from ``warplint/state``."""
    shows_rule_pages: bool = False
    """It opens ``warplint-rule:`` links, and asks for the pages behind them."""
    wants_all_files: bool = False
    """It asks for the findings of files that are not open, or may be let to."""
    trusts_folders: bool = False
    """Its user trusts what is in the folders: code in them may be run."""

    @classmethod
    def of(cls, params: types.InitializeParams) -> ClientFeatures:
        def can(path: str) -> bool:
            return bool(get_capability(params.capabilities, path, False))

        options = params.initialization_options
        own = options.get(OPTIONS) if isinstance(options, Mapping) else None
        asked: Mapping[str, Any] = own if isinstance(own, Mapping) else {}
        resolved = get_capability(
            params.capabilities, "text_document.code_action.resolve_support.properties", []
        )
        return cls(
            # A client that cannot be asked to pull again (Neovim) would not hear of a new capture before
            # the next edit.
            pulls=get_capability(params.capabilities, "text_document.diagnostic") is not None
            and can("workspace.diagnostics.refresh_support"),
            resolves_edits="edit" in resolved,
            shows_disabled_actions=can("text_document.code_action.disabled_support"),
            refreshes_code_lenses=can("workspace.code_lens.refresh_support"),
            refreshes_inlay_hints=can("workspace.inlay_hint.refresh_support"),
            has_configuration=can("workspace.configuration"),
            registers_configuration=can("workspace.did_change_configuration.dynamic_registration"),
            draws=asked.get("draws") is True,
            shows_rule_pages=asked.get("rulePages") is True,
            wants_all_files=asked.get("workspaceDiagnostics") is not False,
            trusts_folders=asked.get("trusted") is True,
        )
