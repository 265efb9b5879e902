"""Where a value goes."""

from __future__ import annotations

import ast

import pytest
from marks import look

FORWARD = "class Net(nn.Module):\n    def forward(self, x):\n{}"


def uses(body: str) -> list[str]:
    """The uses of the marked value in a ``forward(self, x)``: kind, expression, and what it meets."""
    facts, node = look(FORWARD.format("".join(f"        {line}\n" for line in body.splitlines())))
    found = []
    for use in facts.uses(node):
        other = "" if use.other is None or use.other.kind.value == "unknown" else f" {use.other.kind.value}"
        where = "" if use.other is None or use.other.like is None else f" like {use.other.like}"
        written = ast.unparse(use.node).splitlines()[0]
        found.append(f"{use.kind.value}: {written}{' |' if other else ''}{other}{where}")
    return found


USES = {
    "nowhere": ("«torch.zeros(3)»", []),
    "moved at once": ("«torch.zeros(3)».to(x.device)", ["moved: torch.zeros(3).to(x.device)"]),
    "moved through a name": ("t = «torch.zeros(3)»\nt.cuda()", ["moved: t.cuda()"]),
    "moved beside another tensor": (
        "«torch.zeros(3)».type_as(x)",
        ["moved: torch.zeros(3).type_as(x) | tensor like x"],
    ),
    "converted is not moved": ("«torch.zeros(3)».to(torch.half)", ["other: torch.zeros(3).to(torch.half)"]),
    "combined": ("x + «torch.zeros(3)»", ["combined: x + torch.zeros(3) | tensor like x"]),
    "beside a number": ("«torch.zeros(3)» + 1", ["other: torch.zeros(3) + 1 | number"]),
    "compared": ("«torch.zeros(3)» > x", ["combined: torch.zeros(3) > x | tensor like x"]),
    "an argument of a function": (
        "torch.cat([x, «torch.zeros(3)»])",
        ["combined: torch.cat([x, torch.zeros(3)]) | tensor like x"],
    ),
    "an argument of a method": (
        "x.masked_fill(«torch.ones(3)», 0)",
        ["combined: x.masked_fill(torch.ones(3), 0) | tensor like x"],
    ),
    "a method with a tensor": (
        "«torch.ones(3)».matmul(x)",
        ["combined: torch.ones(3).matmul(x) | tensor like x"],
    ),
    "a keyword": (
        "F.linear(x, weight=«torch.ones(3)»)",
        ["combined: F.linear(x, weight=torch.ones(3)) | tensor like x"],
    ),
    "a view": ("«torch.ones(3)».view(1, 3)", ["other: torch.ones(3).view(1, 3) | number"]),
    "an index": ("x[«torch.arange(3)»]", ["index: x[torch.arange(3)] | tensor like x"]),
    "one of several indices": ("x[:, «torch.arange(3)»]", ["index: x[:, torch.arange(3)] | tensor like x"]),
    "an end of a slice": ("x[:«torch.tensor(3)»]", ["index: x[:torch.tensor(3)] | tensor like x"]),
    "indexed": ("«torch.ones(3)»[0]", ["other: torch.ones(3)[0]"]),
    "written into": ("t = «torch.zeros(3)»\nt[0] = x", ["combined: t[0] | tensor like x"]),
    "written": ("x[0] = «torch.zeros(3)»", ["combined: x[0] | tensor like x"]),
    "added to": (
        "t = «torch.zeros(3)»\nt += x\nreturn t",
        ["combined: t += x | tensor like x", "returned: return t"],
    ),
    "read as a list": ("«torch.zeros(3)».tolist()", ["host: torch.zeros(3).tolist()"]),
    "read as a number": ("float(«torch.zeros(3)»)", ["host: float(torch.zeros(3))"]),
    "copied to the CPU": ("«x».cpu()", ["host: x.cpu()"]),
    "printed": ("print(«x»)", ["host: print(x)"]),
    "formatted": ("y = «x + 1»\nf'{y:.3f}'", ["host: y"]),
    "a condition": ("if «x»:\n    pass", ["host: x"]),
    "half a condition": ("if y and not «x»:\n    pass", ["host: not x"]),
    "iterated": ("for y in «x»:\n    y", ["host: for y in x:"]),
    "iterated, with its elements": ("for y in «x»:\n    y.cuda()", ["host: for y in x:", "moved: y.cuda()"]),
    "iterated in a comprehension": ("[y for y in «x»]", ["stored: [y for y in x]", "host: x"]),
    "kept": ("self.t = «torch.zeros(3)»", ["stored: self.t"]),
    "kept as a buffer": (
        "self.register_buffer('t', «torch.zeros(3)»)",
        ["stored: self.register_buffer('t', torch.zeros(3))"],
    ),
    "kept in a list": ("ts.append(«torch.zeros(3)»)", ["stored: ts.append(torch.zeros(3))"]),
    "kept in a new list": ("ts = [«torch.zeros(3)», 1]", ["stored: [torch.zeros(3), 1]"]),
    "returned": ("return «torch.zeros(3)»", ["returned: return torch.zeros(3)"]),
    "returned in a tuple": ("return x, «torch.zeros(3)»", ["returned: return (x, torch.zeros(3))"]),
    "handed to the unknown": ("thing(«torch.zeros(3)»)", ["passed: thing(torch.zeros(3))"]),
    "handed to a module": ("self.block(«torch.zeros(3)»)", ["passed: self.block(torch.zeros(3))"]),
    "its shape": ("«torch.zeros(3)».shape[0]", []),
    "its length": ("len(«torch.zeros(3)»)", []),
    "through two names": ("a = «torch.zeros(3)»\nb = a\nb.cuda()", ["moved: b.cuda()"]),
    "through unpacking": ("a, b = «torch.zeros(3)», 1\na.cuda()\nb", ["moved: a.cuda()"]),
    "through unpacking of its own": ("a, b = «torch.zeros(2, 3)»\nb.cuda()", ["moved: b.cuda()"]),
    "through a walrus": ("if (a := «torch.zeros(3)») is None:\n    a.cuda()", ["moved: a.cuda()"]),
    "through a choice": ("a = «torch.zeros(3)» if y else x\na.cuda()", ["moved: a.cuda()"]),
    "until the name is bound anew": ("a = «torch.zeros(3)»\na = x\na.cuda()", []),
    "bound anew in a branch": ("a = «torch.zeros(3)»\nif y:\n    a = x\na.cuda()", ["moved: a.cuda()"]),
    "around a loop": ("a = x\nfor i in y:\n    a.cuda()\n    a = «torch.zeros(3)»", ["moved: a.cuda()"]),
    "in a closure": ("a = «torch.zeros(3)»\ndef f():\n    return a.cuda()", ["moved: a.cuda()"]),
    "through self": ("self.t = «torch.zeros(3)»\nself.t.cuda()", ["stored: self.t", "moved: self.t.cuda()"]),
    "twice": (
        "a = «torch.zeros(3)»\na.cuda()\nx + a",
        ["moved: a.cuda()", "combined: x + a | tensor like x"],
    ),
    "a parameter's uses": ("«x».cuda()", ["moved: x.cuda()"]),
}


@pytest.mark.parametrize(("body", "expected"), USES.values(), ids=USES)
def test_where_a_value_goes(body: str, expected: list[str]) -> None:
    assert uses(body) == expected


def test_a_value_is_followed_through_the_statements_of_the_module() -> None:
    facts, node = look("t = «torch.zeros(3)»\nx = 1\nif x:\n    t.cuda()\ndef f():\n    return t\n")
    assert [use.kind.value for use in facts.uses(node)] == ["moved"]


def test_a_module_is_met_where_it_lives() -> None:
    facts, node = look(
        "class Net(nn.Module):\n    def __init__(self):\n        self.fc = nn.Linear(3, 3)\n"
        "    def forward(self, x):\n        return self.fc(«torch.zeros(3)»)"
    )
    (use,) = facts.uses(node)
    assert use.kind.value == "combined" and use.other is not None and use.other.on_accelerator


SOURCES = {
    "a name": ("a = x + 1\n«a»", ["x + 1"]),
    "bound anew": ("a = x\na = a + 1\n«a»", ["a + 1"]),
    "bound in branches": ("a = x + 1\nif y:\n    a = x + 2\n«a»", ["x + 2", "x + 1"]),
    "added to": ("a = x\na += 1\n«a»", ["a"]),
    "an attribute": ("self.t = x + 1\n«self.t»", ["x + 1"]),
    "a parameter": ("«x»", []),
    "no name": ("«x + 1»", []),
}


@pytest.mark.parametrize(("body", "expected"), SOURCES.values(), ids=SOURCES)
def test_what_a_name_is_bound_to(body: str, expected: list[str]) -> None:
    facts, node = look(FORWARD.format("".join(f"        {line}\n" for line in body.splitlines())))
    assert [ast.unparse(source) for source in facts.sources(node)] == expected
