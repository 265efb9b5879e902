"""Of which programs it is said that they stay on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint_rules.synchronisation.host_read import HostReadInHotLoop

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x


"""
TRAINING = """\
def main(batches):
    {made}
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in batches:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.item())


if __name__ == "__main__":
    main([])
"""


def is_silent(text: str) -> bool:
    return not Analyzer([HostReadInHotLoop()]).analyze(SourceText(text, Path("train.py"))).findings


@pytest.mark.parametrize(
    "made",
    [
        "model = Net()",
        "model = Net().double().train()",
        "model = nn.Sequential(nn.Linear(3, 4), Net())",
        "model = Net()  # on whatever device",
        "model = Net()\n    model = torch.compile(model)",
    ],
)
def test_one_that_makes_its_model_and_names_no_device_does(made: str) -> None:
    assert is_silent(NET + TRAINING.format(made=made))


@pytest.mark.parametrize(
    ("head", "made"),
    [
        ("from models.net import build\n", "model = build()"),
        ("from models import net\n", "model = Net()\n    model = net.placed(model)"),
        ("", "model = load()"),
        ("", "model = Net().cuda()"),
        ("", "model = Net().to('cuda:0')  # the first"),
        ("import torch.distributed as dist\n", "model = Net()\n    dist.barrier()"),
        ("from torch.nn.parallel import DistributedDataParallel\n", "model = DistributedDataParallel(Net())"),
    ],
    ids=[
        "made elsewhere",
        "handed to another file",
        "made by who knows what",
        "moved",
        "moved, with a comment",
        "one of many",
        "parallel",
    ],
)
def test_one_whose_model_may_have_been_moved_does_not(head: str, made: str) -> None:
    assert not is_silent(head + NET + TRAINING.format(made=made))
