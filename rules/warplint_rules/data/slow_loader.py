from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence, Related
from warplint.static.inference.arguments import is_off
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import argument, has_unpacking, keyword, with_keyword
from warplint_rules._loaders import CALLS, POSITIONS
from warplint_rules._loops import loops_around
from warplint_rules.data._left_behind import is_given_to_twin, is_left_behind
from warplint_rules.data._purpose import Purpose, keeps_order, purpose_of
from warplint_rules.data._source import Source, source_of

if TYPE_CHECKING:
    import libcst as cst

GRAPHS = ("torch_geometric.loader.DataLoader", "torch_geometric.data.DataLoader")
"""Loaders of graphs, which mostly are in memory: workers are worth it only where the author has set some."""
GRAPH_POSITIONS = POSITIONS[:3]

MOVES = {"cuda", "to"}
WORKERS = 4
"""Enough to hide decoding behind the step on most machines, and where PyTorch's ImageNet example starts."""


class SlowDataLoader(Rule):
    """A training loader lacks workers, pinned memory or persistent workers, so the GPU waits for its batches.

    ## Why is this slow?

    Without workers, reading, decoding and collating happen in the training process, and the GPU has nothing
    to do meanwhile. Without pinned memory, the copy of each batch comes from pageable memory: it cannot
    overlap with computing, even with `non_blocking=True`. Without persistent workers, all worker processes
    are started anew each epoch, with their imports and their copy of the data set.

    Measured on an H200 with torch 2.11: an epoch of 20 batches took 1.21 s without workers, 0.55 s with 8
    workers and 0.34 s where they were persistent; a step that copies 64 MB took 9.1 ms from pageable memory,
    and 6.6 ms from pinned memory. The longer an epoch, the less persistent workers gain.

    ## When it stays silent

    - on loaders for evaluation, tests, prediction and demonstrations: they run seldom and briefly;
    - on data that is in memory already or made up (`TensorDataset`, lists, replay buffers, random data):
      workers cost more there;
    - when `*args` or `**kwargs` may hold the settings, unless they are switched off beside them or are
      parameters of the function that it hands to another loader only, and for settings given as variables;
    - on a loader that need not be for training, about a parameter that the function hands to its loaders of
      other data sets only;
    - on loaders of graphs without workers, as their graphs mostly are in memory;
    - about persistence, where the loader is made anew for every pass or `persistent_workers` is written out;
    - about pinned memory alone, where a loader writes all three settings out, `pin_memory=False` among them;
    - when neither the names around the loader, nor `shuffle` or a sampler, nor a data set that reads files
      say that it is for training.

    ## Fix safety

    Unsafe. Workers change the order in which random numbers are drawn in the data set and take memory of
    their own; pinned memory is taken from the system's. The fix writes `num_workers=4`, because that hides
    decoding behind the step in most programs and PyTorch's ImageNet example starts from it as well. More
    than the cores a GPU has for itself only slows down; a capture shows whether the GPU still waits for
    data. Where workers are spawned (Windows, macOS), a script needs its `if __name__ == "__main__"` guard.

    ## Sources

    - torch.utils.data, "Single- and Multi-process Data Loading" and "Memory Pinning"
    - PyTorch performance tuning guide, "Enable asynchronous data loading and augmentation"
    - meta-pytorch/torchfix#96: a linter that asks for workers must say how many
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL301"
    name = "slow-data-loader"
    wants = wants(calls=[*CALLS, *GRAPHS])
    proof = Signature(At.USES, Metric.DATA_IDLE)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "A plain loader over a data set that reads files.",
            """\
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, paths, transform):
        self.paths = paths
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]))


def fit(model, optimizer, paths, transform):
    loader = «DataLoader(Photos(paths, transform))»
    for epoch in range(10):
        for photos in loader:
            loss = model(photos.to("cuda")).mean()
            loss.backward()
            optimizer.step()
""",
            """\
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, paths, transform):
        self.paths = paths
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]))


def fit(model, optimizer, paths, transform):
    loader = DataLoader(Photos(paths, transform), num_workers=4, pin_memory=True, persistent_workers=True)
    for epoch in range(10):
        for photos in loader:
            loss = model(photos.to("cuda")).mean()
            loss.backward()
            optimizer.step()
""",
        ),
        Example(
            "Workers as asked for, but nothing is pinned, and they are started anew each epoch.",
            """\
import torch
import torchvision


def loaders(options):
    train_data = torchvision.datasets.ImageFolder(options.folder)
    return «torch.utils.data.DataLoader(
        train_data,
        batch_size=options.batch_size,
        shuffle=True,
        num_workers=options.workers,
    )»
""",
            """\
import torch
import torchvision


def loaders(options):
    train_data = torchvision.datasets.ImageFolder(options.folder)
    return torch.utils.data.DataLoader(
        train_data,
        batch_size=options.batch_size,
        shuffle=True,
        num_workers=options.workers,
        pin_memory=True,
        persistent_workers=options.workers > 0,
    )
""",
        ),
        Example(
            "Pinned and with workers, but the workers do not outlive the epoch.",
            """\
from torch.utils.data import DataLoader


class Trainer:
    def make_loader(self):
        self.batches = «DataLoader(
            self.data, sampler=self.sampler, num_workers=4, pin_memory=True
        )»
""",
            """\
from torch.utils.data import DataLoader


class Trainer:
    def make_loader(self):
        self.batches = DataLoader(
            self.data, sampler=self.sampler, num_workers=4, pin_memory=True, persistent_workers=True
        )
""",
        ),
        Example(
            "Workers for graphs that do not outlive the epoch.",
            """\
from torch_geometric.loader import DataLoader


def train_loader(train_data):
    return «DataLoader(train_data, 32, num_workers=8, pin_memory=True)»
""",
            """\
from torch_geometric.loader import DataLoader


def train_loader(train_data):
    return DataLoader(train_data, 32, num_workers=8, pin_memory=True, persistent_workers=True)
""",
        ),
        Example(
            "Switched off beside settings that the caller may choose.",
            """\
from torch.utils.data import DataLoader


def build(train_data, workers, **more):
    return «DataLoader(train_data, num_workers=workers, pin_memory=False, **more)»
""",
            """\
from torch.utils.data import DataLoader


def build(train_data, workers, **more):
    return DataLoader(train_data, num_workers=workers, pin_memory=True, **more)
""",
        ),
        Example(
            "Volumes decompressed in a helper of the data set.",
            """\
import zlib
from torch.utils.data import DataLoader, Dataset


class Volumes(Dataset):
    def __getitem__(self, index):
        return self.volume(index)

    def volume(self, index):
        return zlib.decompress(self.paths[index].read_bytes())


loader = «DataLoader(Volumes(), pin_memory=True)»
""",
            """\
import zlib
from torch.utils.data import DataLoader, Dataset


class Volumes(Dataset):
    def __getitem__(self, index):
        return self.volume(index)

    def volume(self, index):
        return zlib.decompress(self.paths[index].read_bytes())


loader = DataLoader(Volumes(), pin_memory=True, num_workers=4, persistent_workers=True)
""",
        ),
        Example(
            "Settings given by position: shuffled, no workers, not pinned.",
            """\
from torch.utils.data import DataLoader
from torchvision.datasets import CIFAR10
from torchvision.transforms import ToTensor

pictures = CIFAR10("data", transform=ToTensor())
batches = «DataLoader(pictures, 128, True, None, None, 0, None, False)»
""",
            """\
from torch.utils.data import DataLoader
from torchvision.datasets import CIFAR10
from torchvision.transforms import ToTensor

pictures = CIFAR10("data", transform=ToTensor())
batches = DataLoader(pictures, 128, True, None, None, 4, None, True, persistent_workers=True)
""",
        ),
        Example(
            "Workers may be none, and persistent ones are an error then.",
            """\
from torch.utils.data import DataLoader


def loaders(data, num_workers, few, persistent_workers=False):
    first = DataLoader(data, num_workers=num_workers, persistent_workers=persistent_workers)
    second = «DataLoader(data, num_workers=few)»
    return first, second


def trained(data, num_workers):
    first = DataLoader(data, num_workers=num_workers, pin_memory=True)
    train = «DataLoader(data, pin_memory=True)»
    return first, train
""",
            """\
from torch.utils.data import DataLoader


def loaders(data, num_workers, few, persistent_workers=False):
    first = DataLoader(data, num_workers=num_workers, persistent_workers=persistent_workers)
    second = DataLoader(data, num_workers=few, persistent_workers=persistent_workers and few > 0)
    return first, second


def trained(data, num_workers):
    first = DataLoader(data, num_workers=num_workers, pin_memory=True)
    train = DataLoader(data, pin_memory=True, num_workers=num_workers, persistent_workers=num_workers > 0)
    return first, train
""",
        ),
        Example(
            "A setting that the function takes reaches only one of its two loaders.",
            """\
from torch.utils.data import DataLoader


def batches(data, workers, grouped, pin_memory=False, **more):
    if grouped:
        return grouping(«DataLoader(data, num_workers=workers, **more)»)
    return DataLoader(data, num_workers=workers, pin_memory=pin_memory, **more)
""",
            """\
from torch.utils.data import DataLoader


def batches(data, workers, grouped, pin_memory=False, **more):
    if grouped:
        return grouping(DataLoader(data, num_workers=workers, **more, pin_memory=pin_memory))
    return DataLoader(data, num_workers=workers, pin_memory=pin_memory, **more)
""",
        ),
    )

    quiet = (
        Example(
            "What was collected is in memory, and goes into a loader that is made anew for it.",
            """\
from torch.utils.data import DataLoader


class Trainer:
    def train(self):
        loader = DataLoader(self.replay_buffer, batch_size=8, shuffle=True)
        for epoch in range(4):
            for batch in loader:
                self.model(batch.to("cuda")).mean().backward()
                self.optimizer.step()
""",
        ),
        Example(
            "Settings that reach a loader by another way, and those of a loader for validation.",
            """\
from torch.utils.data import DataLoader


def batches(data, workers, grouped, pin_memory=False, **more):
    more["pin_memory"] = pin_memory
    if grouped:
        return grouping(DataLoader(data, num_workers=workers, **more))
    return DataLoader(data, num_workers=workers, **more)


def copies(data, workers, pin_memory=False, **more):
    if pin_memory:
        return Copier(DataLoader(data, num_workers=workers, **more))
    return DataLoader(data, num_workers=workers, pin_memory=pin_memory, **more)


def both(train_data, val_data, pin_memory, **more):
    train_loader = DataLoader(train_data, num_workers=8, pin_memory=pin_memory, **more)
    val_loader = DataLoader(val_data, num_workers=8, **more)
    return train_loader, val_loader
""",
        ),
        Example(
            "No workers that could go on, and a setting of a loader over other data.",
            """\
from torch.utils.data import DataLoader


def both(data, workers, persistent_workers):
    first = DataLoader(data, num_workers=workers, persistent_workers=persistent_workers)
    second = DataLoader(data)
    return first, second, DataLoader(data, num_workers=0)


def captioned(images, captions, workers, pin_memory):
    pictures = DataLoader(images, batch_size=64, num_workers=workers, pin_memory=pin_memory)
    vocabulary = DataLoader(captions, batch_size=64, num_workers=workers)
    return pictures, vocabulary
""",
        ),
        Example(
            "Workers that end with the epoch, as somebody wants them to.",
            """\
from torch.utils.data import DataLoader

train_loader = DataLoader(
    Photos(paths), shuffle=True, num_workers=8, pin_memory=True, persistent_workers=False
)
""",
        ),
        Example(
            "Everything is set.",
            """\
from torch.utils.data import DataLoader


def loaders(train_data, options):
    return DataLoader(
        train_data,
        shuffle=True,
        num_workers=options.workers,
        pin_memory=True,
        persistent_workers=options.workers > 0,
    )
""",
        ),
        Example(
            "Graphs in memory.",
            """\
from torch_geometric.datasets import PPI
from torch_geometric.loader import DataLoader


def loaders(folder):
    train_data = PPI(folder, split="train")
    return DataLoader(train_data, batch_size=2, shuffle=True)
""",
        ),
        Example(
            "The settings may be among the keyword arguments.",
            """\
from torch.utils.data import DataLoader


def loaders(train_data, **options):
    return DataLoader(train_data, shuffle=True, **options)
""",
        ),
        Example(
            "Loaders for validation and test.",
            """\
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

valid_loader = DataLoader(ImageFolder("photos"), batch_size=64)
loaders = {"test": DataLoader(ImageFolder("photos"), batch_size=64)}


testloader = DataLoader(ImageFolder("photos"), shuffle=True)
photos = ImageFolder("photos/val")
scored = DataLoader(photos, shuffle=True)


def predict(model, folder):
    for batch in DataLoader(ImageFolder(folder)):
        model(batch)
""",
        ),
        Example(
            "Tensors in memory.",
            """\
import torch
from torch.utils.data import DataLoader, Subset, TensorDataset

data = TensorDataset(torch.zeros(100, 4), torch.zeros(100))
train_loader = DataLoader(data, shuffle=True)
first_loader = DataLoader(Subset(data, range(10)), shuffle=True)
pairs_loader = DataLoader([(1, 2), (3, 4)], shuffle=True)
""",
        ),
        Example(
            "A data set of the same file that only looks up what it holds.",
            """\
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, left, right):
        self.left = left
        self.right = right

    def __len__(self):
        return len(self.left)

    def __getitem__(self, index):
        return self.left[index], self.right[index]


def fit(left, right):
    train_loader = DataLoader(Pairs(left, right), batch_size=256, shuffle=True)
    return train_loader
""",
        ),
        Example(
            "Made-up data, to try the model out.",
            """\
from torch.utils.data import DataLoader


def smoke(model, RandomDataset):
    train_loader = DataLoader(RandomDataset(64), batch_size=2)
    for batch in train_loader:
        model(batch)
""",
        ),
        Example(
            "Neither the names nor the arguments say that this trains, and the data set is unknown.",
            """\
from torch.utils.data import DataLoader


def batches(data):
    return DataLoader(data, batch_size=16)
""",
        ),
        Example(
            "Goes through the data in order, as for embedding or scoring all of it.",
            """\
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, SequentialSampler


def all_of(data):
    order = BatchSampler(SequentialSampler(data), batch_size=8, drop_last=False)
    return DataLoader(data, batch_sampler=order)


def share_of(data, ranks):
    share = None if ranks == 1 else DistributedSampler(data, ranks, shuffle=False)
    return DataLoader(data, sampler=share)
""",
        ),
        Example(
            "Only indices: the samples are looked up on the GPU.",
            """\
from torch.utils.data import DataLoader


def loader(train_idx):
    train_loader = DataLoader(train_idx, batch_size=1024, shuffle=True)
    return train_loader
""",
        ),
        Example(
            "Made for one epoch.",
            """\
from torch.utils.data import DataLoader


class Data:
    def loader(self, epoch):
        self.sampler.set_epoch(epoch)
        return DataLoader(self.train_data, sampler=self.sampler, num_workers=8, pin_memory=True)
""",
        ),
        Example(
            "All three settings are written out: not to pin was chosen with the others.",
            """\
from torch.utils.data import DataLoader


def loaders(train_data, workers, persistent_workers):
    return DataLoader(
        train_data,
        shuffle=True,
        num_workers=workers,
        pin_memory=False,
        persistent_workers=persistent_workers,
    )
""",
        ),
        Example(
            "Made anew for each pass, so that its workers have nothing to outlive.",
            """\
from torch.utils.data import DataLoader


def train_one_epoch(model, data, optimizer):
    batches = DataLoader(data, shuffle=True, num_workers=8, pin_memory=True)
    for batch in batches:
        loss = model(batch.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call), "the rule wants calls"
        missing = _missing(node, facts)
        if not missing:
            return None
        copies = _copies(node, facts) if Lack.PINNED in missing else []
        settings = [f"{lack.value}={_setting(lack, node, facts)}" for lack in missing]
        return Verdict(
            node,
            _message(missing, settings),
            Confidence.LIKELY,
            Applicability.UNSAFE,
            f"Add {', '.join(settings)}",
            tuple(copies),
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call) and isinstance(site, ast.Call), "a site is a call"
        for lack in _missing(site, facts):
            node = _with_argument(node, lack.value, cst.parse_expression(_setting(lack, site, facts)))
        return Rewrite(node)


class Lack(enum.Enum):
    """A setting that a loader lacks, by the name of its parameter."""

    WORKERS = "num_workers"
    PINNED = "pin_memory"
    PERSISTENT = "persistent_workers"


def _argument(loader: ast.Call, name: str) -> ast.expr | None:
    return argument(loader, POSITIONS.index(name), name) if name in POSITIONS else keyword(loader, name)


def _is_on(loader: ast.Call, name: str) -> bool:
    """Whether a setting is given and not literally off; a variable's value is not ours to judge."""
    given = _argument(loader, name)
    return given is not None and not is_off(given)


def _missing(loader: ast.Call, facts: Facts) -> list[Lack]:
    """What the loader lacks for its purpose; empty when it is no training loader, or cannot be judged."""
    dataset = _argument(loader, "dataset")
    if dataset is None or any(isinstance(argument, ast.Starred) for argument in loader.args):
        return []
    if facts.qualified(loader.func) in GRAPHS and not _is_worth_workers(loader):
        return []
    source = source_of(dataset, facts)
    if source is Source.MEMORY:
        return []
    missing = [lack for lack in Lack if not _may_be_on(loader, lack.value, facts)]
    if not _trains(loader, dataset, source, facts):
        # Whatever it is for, the caller chooses a setting of this data set's loaders that does not arrive.
        is_other = purpose_of(loader, dataset, facts) is Purpose.OTHER
        missing = (
            [] if is_other else [lack for lack in missing if is_given_to_twin(loader, lack.value, facts)]
        )
    if Lack.PERSISTENT in missing and not _may_persist(loader, Lack.WORKERS in missing, facts):
        missing.remove(Lack.PERSISTENT)
    return [] if missing == [Lack.PINNED] and _is_tuned(loader) else missing


def _is_tuned(loader: ast.Call) -> bool:
    """Whether a loader writes out all three settings: who has chosen the others chose not to pin as well.

    Pinning takes memory from the system, and gains little beside workers that outlive the epoch.
    """
    return all(_argument(loader, lack.value) is not None for lack in Lack)


def _may_persist(loader: ast.Call, gets_workers: bool, facts: Facts) -> bool:
    """Whether the loader has workers or is to get them, which may go on after an epoch.

    Written out, the default is a choice: workers that go on hold their memory, and an old data set.
    """
    has_workers = gets_workers or _is_on(loader, Lack.WORKERS.value)
    is_chosen = _argument(loader, Lack.PERSISTENT.value) is not None
    return has_workers and not is_chosen and not _is_made_anew(loader, facts)


def _may_be_on(loader: ast.Call, name: str, facts: Facts) -> bool:
    """Whether a setting is on, or not given in the open where ``**more`` may hold it."""
    if _is_on(loader, name):
        return True
    return (
        has_unpacking(loader) and _argument(loader, name) is None and not is_left_behind(loader, name, facts)
    )


def _is_worth_workers(loader: ast.Call) -> bool:
    """Whether a loader of graphs has workers, and its arguments are those that all loaders have."""
    return _is_on(loader, "num_workers") and len(loader.args) <= len(GRAPH_POSITIONS)


def _setting(lack: Lack, loader: ast.Call, facts: Facts) -> str:
    """What the fix sets: workers that outlive the epoch are an error where there are none."""
    is_handed = is_left_behind(loader, lack.value, facts)
    if lack is Lack.WORKERS:
        return lack.value if is_handed else str(WORKERS)
    workers = _argument(loader, Lack.WORKERS.value)
    if workers is None and is_left_behind(loader, Lack.WORKERS.value, facts):
        workers = ast.Name(Lack.WORKERS.value)
    wanted = lack.value if is_handed else "True"
    if lack is Lack.PINNED or workers is None or isinstance(workers, ast.Constant):
        return wanted
    has_workers = ast.unparse(ast.Compare(workers, [ast.Gt()], [ast.Constant(0)]))
    return f"{wanted} and {has_workers}" if is_handed else has_workers


def _trains(loader: ast.Call, dataset: ast.expr, source: Source, facts: Facts) -> bool:
    """By the names around the loader, else by the order it takes, else by how much there is to win."""
    purpose = purpose_of(loader, dataset, facts)
    if purpose is not Purpose.UNKNOWN:
        return purpose is Purpose.TRAINING
    samplers = [_argument(loader, name) for name in ("sampler", "batch_sampler") if _is_on(loader, name)]
    if samplers:
        return not any(sampler is not None and keeps_order(sampler, facts) for sampler in samplers)
    shuffle = _argument(loader, "shuffle")
    return source is Source.WORK if shuffle is None else not is_off(shuffle)


def _is_made_anew(loader: ast.Call, facts: Facts) -> bool:
    """Whether the function that makes the loader is called for each pass: it goes over it, and only once."""
    function = facts.function(loader)
    if function is not None and any(argument.arg == "epoch" for argument in function.node.args.args):
        return True
    loops = _loops_over(loader, facts)
    return bool(loops) and not any(loops_around(loop, facts) for loop in loops)


def _loops_over(loader: ast.Call, facts: Facts) -> list[ast.For]:
    return [use.node for use in facts.uses(loader) if isinstance(use.node, ast.For)]


def _copies(loader: ast.Call, facts: Facts) -> list[Related]:
    """The copies of batches to the GPU, which cannot overlap with anything while batches are not pinned."""
    return [
        Related(facts.span(node), "this copy cannot overlap: its batch is not pinned")
        for loop in _loops_over(loader, facts)
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and _moves_a_batch(node, loop)
    ]


def _moves_a_batch(call: ast.Call, loop: ast.For) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in MOVES:
        return False
    batch = {name.id for name in ast.walk(loop.target) if isinstance(name, ast.Name)}
    return any(isinstance(name, ast.Name) and name.id in batch for name in ast.walk(call.func.value))


COSTS = {
    Lack.WORKERS: "samples are read in the training process (no `num_workers`)",
    Lack.PINNED: "batches are copied from pageable memory, which overlaps with nothing (no `pin_memory`)",
    Lack.PERSISTENT: "workers are started anew every epoch (no `persistent_workers`)",
}


def _message(missing: list[Lack], settings: list[str]) -> str:
    """What the loader lacks; workers that are not there yet can't be missed a second time."""
    costs = [COSTS[lack] for lack in missing if lack is not Lack.PERSISTENT or Lack.WORKERS not in missing]
    advice = ", ".join(f"`{setting}`" for setting in settings)
    return f"This loader can keep the GPU waiting: {' and '.join(costs)}. Add {advice}."


def _with_argument(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    """The call with a setting replaced where it stands, by name or by position, else added by name."""
    position = POSITIONS.index(name) if name in POSITIONS else len(call.args)
    if position < len(call.args) and call.args[position].keyword is None:
        arguments = list(call.args)
        arguments[position] = arguments[position].with_changes(value=value)
        return call.with_changes(args=arguments)
    return with_keyword(call, name, value)
