"""What classes and functions are for."""

from __future__ import annotations

import ast
import string
from collections.abc import Callable, Mapping
from functools import lru_cache

from warplint.source.pattern import Pattern
from warplint.static.parsing.blocks import ClassOutline, FunctionOutline
from warplint.static.parsing.tree import last_name
from warplint.static.role import Role
from warplint.static.tables import class_roles, function_roles

MODULE = "module"


class ClassRoles:
    """The role of each class of a module; ``named`` gives the imported name a base stands for, if any, and
    ``elsewhere`` the role of one that another file of the project defines."""

    def __init__(
        self,
        classes: Mapping[str, ClassOutline],
        named: Callable[[ast.expr], str | None],
        elsewhere: Callable[[ast.expr], str | None],
    ) -> None:
        self._classes = classes
        self._named = named
        self._elsewhere = elsewhere
        self._known: dict[ClassOutline, str | None] = {}

    def role(self, owner: ClassOutline) -> str | None:
        if owner not in self._known:
            # A class that derives from itself, through an edit half done, has no role.
            self._known[owner] = None
            self._known[owner] = self._derive(owner)
        return self._known[owner]

    def bases(self, owner: ClassOutline) -> list[ClassOutline]:
        """The direct bases that this file defines."""
        names = [base.id for base in owner.node.bases if isinstance(base, ast.Name)]
        return [
            self._classes[name]
            for name in names
            if name in self._classes and self._classes[name] is not owner
        ]

    def _derive(self, owner: ClassOutline) -> str | None:
        for base in owner.node.bases:
            role = self._role_of_base(base, owner)
            if role is not None:
                return role
        own = _by_suffix(owner.node.name.rstrip(string.digits), class_roles.OWN_NAME_SUFFIXES)
        if (
            own is None
            and {"__getitem__", "__len__"} <= owner.methods.keys()
            and "forward" not in owner.methods
        ):
            return "dataset"
        return own

    def _role_of_base(self, base: ast.expr, owner: ClassOutline) -> str | None:
        if isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(base, ast.Name) and base.id in self._classes:
            return self.role(self._classes[base.id])
        qualified = self._named(base)
        if qualified is not None:
            role = class_roles.BASES.get(qualified) or _by_prefix(qualified)
            if role is not None:
                return role
        role = _by_suffix(last_name(base), class_roles.SUFFIXES)
        if role == "sampler" and not class_roles.SAMPLING & owner.methods.keys():
            # One that gives no indices of a data set chooses pixels, tokens or time steps.
            role = None
        if role == MODULE:
            return MODULE if _looks_like_module(owner) else self._elsewhere(base)
        if (
            role is None
            and _looks_like_module(owner)
            and last_name(base) not in {"object", "ABC", "Protocol"}
        ):
            return MODULE
        return role or self._elsewhere(base)


def _looks_like_module(owner: ClassOutline) -> bool:
    forward = owner.methods.get("forward")
    return forward is not None and bool(forward.node.args.args) and forward.node.args.args[0].arg == "self"


def _by_prefix(qualified: str) -> str | None:
    return next((role for prefix, role in class_roles.PREFIXES.items() if qualified.startswith(prefix)), None)


def _by_suffix(name: str, suffixes: tuple[tuple[str, str], ...]) -> str | None:
    return next((role for suffix, role in suffixes if name.endswith(suffix)), None)


_METHODS: dict[str | None, dict[Role, Pattern]] = {
    MODULE: function_roles.MODULE_METHODS,
    "metric": function_roles.METRIC_METHODS,
    "loss": function_roles.LOSS_METHODS,
    "pipeline": function_roles.PIPELINE_METHODS,
    "autograd function": function_roles.AUTOGRAD_METHODS,
    "optimizer": function_roles.OPTIMIZER_METHODS,
}

_PLAIN = (
    (function_roles.SETUP, Role.SETUP),
    (function_roles.DATA, Role.DATA),
    (function_roles.LOSS, Role.FORWARD),
    (function_roles.TRAIN, Role.TRAIN_STEP),
    (function_roles.EVALUATE, Role.EVALUATE),
    (function_roles.GENERATE, Role.GENERATE),
    (function_roles.SCRIPT, Role.SCRIPT),
)


def named_role(function: FunctionOutline, class_role: str | None) -> Role:
    """What a function is for by its name and class alone."""
    return _role_named(function.name, class_role)


@lru_cache(maxsize=4096)
def _role_named(name: str, class_role: str | None) -> Role:
    if class_role in class_roles.HOST_ROLES:
        return Role.SETUP if function_roles.SETUP.fullmatch(name) else Role.DATA
    for role, pattern in _METHODS.get(class_role, {}).items():
        if pattern.fullmatch(name):
            return role
    for pattern, role in _PLAIN:
        if pattern.fullmatch(name):
            return role
    return Role.OTHER


def is_construction(function: FunctionOutline) -> bool:
    """Whether the function runs once an object, whoever calls it."""
    return function.class_ is not None and function.name in {"__init__", "__new__", "__post_init__"}


def is_cached(function: FunctionOutline) -> bool:
    """Whether a decorator keeps the result, so that the body runs once."""
    return any("cache" in last_name(_called(decorator)) for decorator in function.node.decorator_list)


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator
