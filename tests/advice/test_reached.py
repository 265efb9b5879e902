"""Whether what sets a program up has run, told by the lines that ran in the captured steps.

The texts say it in comments: lines that ran, and what becomes of the finding on a line that sets up.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from measuring import measured, profile_of

from warplint.profile.model import KernelCost, LineCost
from warplint.profile.sections.named_costs import LayerCost

SGEMM = KernelCost("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_cublas", 50_000, 10)
LOOP = """\
    for batch in loader:  # ran
        model(batch.cuda()).mean().backward()  # ran
        optimizer.step()  # ran
"""

MANY_WAYS = "".join(
    f"def make_{each + 1}(model):\n    make_{each}(model)\n    return make_{each}(model)\n\n"
    for each in range(40)
)

TEXTS = {
    "before the loop": f"""\
def main(args, model, loader):
    optimizer = Adam(model.parameters())  # confirmed
{LOOP}""",
    "a branch that may not have run": f"""\
def main(args, model, loader):
    if args.slow:
        optimizer = Adam(model.parameters(), 1e-4)  # unjudged
    else:
        optimizer = Adam(model.parameters())  # unjudged
{LOOP}""",
    "a case of a match": f"""\
def main(args, model, loader):
    match args.speed:
        case "slow":
            optimizer = Adam(model.parameters(), 1e-4)  # unjudged
        case _:
            optimizer = Adam(model.parameters())  # unjudged
{LOOP}""",
    "a handler": f"""\
def main(args, model, loader):
    try:
        optimizer = Adam(model.parameters())  # confirmed
    except ValueError:
        optimizer = Adam(model.parameters(), 1e-4)  # unjudged
{LOOP}""",
    "where there is a GPU": f"""\
def main(args, model, loader):
    if torch.cuda.is_available():
        optimizer = Adam(model.parameters())  # confirmed
{LOOP}""",
    "the branch that the loop is in": """\
def main(args, model, loader):
    if args.train:
        optimizer = Adam(model.parameters())  # confirmed
        for batch in loader:  # ran
            model(batch.cuda()).mean().backward()  # ran
            optimizer.step()  # ran
    else:
        optimizer = Adam(model.parameters(), 1e-4)  # unjudged
        for batch in loader:
            model(batch.cuda()).mean().backward()
            optimizer.step()
""",
    "after the loop": f"""\
def main(args, model, optimizer, loader):
{LOOP}
    optimizer = Adam(model.parameters())  # unjudged
    for batch in loader:
        model(batch.cuda()).mean().backward()
        optimizer.step()
""",
    "in the function that calls what runs": f"""\
def train(model, loader, optimizer):
{LOOP}

def main(args, model, loader):
    optimizer = Adam(model.parameters())  # confirmed
    train(model, loader, optimizer)
    optimizer = Adam(model.parameters(), 1e-4)  # unjudged
    evaluate(model, optimizer)


if __name__ == "__main__":
    main(parse(), load())
""",
    "in a function that is called before": f"""\
def build(model):
    return Adam(model.parameters())  # confirmed


def rebuild(model):
    return Adam(model.parameters(), 1e-4)  # unjudged


def main(args, model, loader):
    optimizer = build(model)
{LOOP}""",
    "in a function whose call may have been passed by": f"""\
def build(model):
    return Adam(model.parameters())  # unjudged


def main(args, model, optimizer, loader):
    if args.build:
        optimizer = build(model)
{LOOP}""",
    "in functions that call each other": f"""\
def one(model):
    return Adam(model.parameters()) or other(model)  # unjudged


def other(model):
    return one(model)


def main(args, model, optimizer, loader):
{LOOP}""",
    "in a class of which a method ran": """\
class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = Adam(self.model.parameters())  # confirmed

    def train(self, loader):
        for batch in loader:  # ran
            self.model(batch.cuda()).mean().backward()  # ran
            self.optimizer.step()  # ran
""",
    "after a branch that returns": f"""\
def train(model, loader, optimizer):
{LOOP}

def evaluate(model, loader):
    train(model, loader, None)


def main(args, model, loader):
    if args.evaluate:
        evaluate(model, loader)
        return
    optimizer = Adam(model.parameters())  # unjudged
    train(model, loader, optimizer)
""",
    "of the module": """\
optimizer = Adam(model.parameters())  # confirmed


def train(loader):
    for batch in loader:  # ran
        model(batch.cuda()).mean().backward()  # ran
        optimizer.step()  # ran
""",
    "more ways to its call than can be gone": f"""\
def make_0(model):
    return Adam(model.parameters())  # unjudged

{MANY_WAYS}
def main(args, model, loader, optimizer):
{LOOP}""",
}


def outcomes_by_line(text: str, code: str, folder: Path, layers: tuple[str, ...] = ()) -> dict[int, str]:
    """What becomes of a rule's findings by line, with products in fp32 and an optimizer on lines that ran."""
    lines = [number for number, line in enumerate(text.split("\n"), 1) if line.endswith("# ran")]
    costs = [
        LineCost("train.py", line, busy_us=1_000, gpu_optimizer_us=1_000, cpu_us=1_000, kernels=[SGEMM])
        for line in lines
    ]
    profile = profile_of(text, costs)
    profile.layers = [
        LayerCost("", name, name, "fp32", "", "models.py", 1, 10, 10, 10.0, 10.0, 10.0) for name in layers
    ]
    found = measured(folder, text, profile)
    return {
        text.count("\n", 0, each.span.start) + 1: each.measured.outcome.value
        for each in found
        if each.code == code and each.measured is not None
    }


def expected(text: str) -> dict[int, str]:
    lines = enumerate(text.split("\n"), 1)
    said = {number: re.search(r"# (confirmed|unjudged)$", line) for number, line in lines}
    return {number: match[1] for number, match in said.items() if match}


@pytest.mark.parametrize("name", TEXTS)
def test_what_sets_up_is_confirmed_only_where_it_has_run(name: str, tmp_path: Path) -> None:
    text = f"import torch\nfrom torch.optim import Adam\n\n{TEXTS[name]}"
    assert outcomes_by_line(text, "WL502", tmp_path) == expected(text)


MODELS = f"""\
import torch


class Transformer(torch.nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth


class Encoder(Transformer):
    pass


def main(args, loader):
    if args.large:
        model = Transformer(24).cuda()  # confirmed
    else:
        model = Encoder(6).cuda()  # unjudged
    optimizer = torch.optim.SGD(model.parameters())
{LOOP}

if __name__ == "__main__":
    main(parse(), load())
"""


def test_a_layer_that_ran_tells_which_branch_made_it(tmp_path: Path) -> None:
    assert outcomes_by_line(MODELS, "WL401", tmp_path, ("Transformer", "Block")) == expected(MODELS)


def test_a_layer_that_is_made_in_two_places_tells_nothing(tmp_path: Path) -> None:
    text = MODELS.replace("Encoder(6)", "Transformer(6)").replace("# confirmed", "# unjudged")
    assert outcomes_by_line(text, "WL401", tmp_path, ("Transformer",)) == expected(text)
