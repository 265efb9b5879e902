"""How often a marked place runs, and why."""

from __future__ import annotations

import pytest
from marks import look

TRAIN = """
def train(model, loader, optimizer, args):
    start = 1
    for step, batch in enumerate(loader):
        loss = model(batch)
        loss.backward()
        optimizer.step()
{}
"""


def in_loop(body: str) -> str:
    return TRAIN.format("\n".join(" " * 8 + line for line in body.splitlines()))


def method(name: str) -> str:
    return f"class Net(nn.Module):\n    def {name}(self, x):\n        «here()»"


PLACES = {
    "a loop over minibatches": (
        "def update(self, batch):\n    for minibatch in batch.split(64):\n        for _ in range(9):\n"
        "            self.optim.step(loss)\n        «here()»",
        "step",
        "in the loop over batches",
    ),
    "a module's step on one batch, by its name": (method("fit_batch"), "step", "in Net.fit_batch"),
    "a module's training, by its name": (method("fit"), "unknown", "in Net.fit"),
    "a forward pass that runs a model for each part": (
        "class Net(nn.Module):\n    def forward(self, parts):\n        for part in parts:\n"
        "            self.encoder(part)\n        «here()»",
        "step",
        "in Net.forward",
    ),
    "a method that gives what it made of tensors under no_grad": (
        "class Pixels(Chooser):\n    def choose(self, logits):\n        with torch.no_grad():\n"
        "            «here()»\n            weight = logits.new_zeros(3)\n            return weight",
        "step",
        "in Pixels.choose",
    ),
    "where tensors are on the CPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if len(x) and not x.is_cuda:\n"
        "            «here()»",
        "once",
        "only where tensors are on the CPU",
    ),
    "where the GPU has left": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if x.device.type == 'cuda':\n"
        "            return fast(x)\n        «here()»",
        "once",
        "only where tensors are on the CPU",
    ),
    "where tensors are on the CPU, or a kernel is not built": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if x.is_cuda and built:\n"
        "            return fast(x)\n        «here()»",
        "step",
        "in Net.forward",
    ),
    "where another device is the CPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if self.offload_device == 'cpu':\n"
        "            «here()»",
        "step",
        "in Net.forward",
    ),
    "where the device of something beside is the CPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if offload_config.device == 'cpu':\n"
        "            «here()»",
        "step",
        "in Net.forward",
    ),
    "where the device of a part beside is the CPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if self.offload.device.type == 'cpu':\n"
        "            «here()»",
        "step",
        "in Net.forward",
    ),
    "where the device of something kept beside is the CPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if self.swapped[0].device == 'cpu':\n"
        "            «here()»",
        "step",
        "in Net.forward",
    ),
    "where what was kept beside is on the CPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if not self.offloaded.is_cuda:\n"
        "            «here()»",
        "step",
        "in Net.forward",
    ),
    "where the device of the settings is the CPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if self.config.device == 'cpu':\n"
        "            «here()»",
        "once",
        "only where tensors are on the CPU",
    ),
    "where a tensor on the CPU is moved to the GPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n"
        "        if not x.is_cuda:\n            x = «x.cuda()»",
        "step",
        "in Net.forward",
    ),
    "where tensors on the CPU are moved to another's device": (
        "class Net(nn.Module):\n    def forward(self, x):\n"
        "        if x.device.type == 'cpu':\n            x = «x.to(y.device)»",
        "step",
        "in Net.forward",
    ),
    "where a helper moves a tensor to the GPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n"
        "        if not x.is_cuda:\n            x = «move_to_device(x)»",
        "step",
        "in Net.forward",
    ),
    "where a helper is handed the device": (
        "class Net(nn.Module):\n    def forward(self, x):\n"
        "        if not x.is_cuda:\n            x = «send(x, self.device)»",
        "step",
        "in Net.forward",
    ),
    "where the GPU has left, and a tensor is moved there": (
        "class Net(nn.Module):\n    def forward(self, x):\n"
        "        if x.is_cuda:\n            return x\n        x = «x.to('cuda', torch.half)»",
        "step",
        "in Net.forward",
    ),
    "where the GPU has left, after a move": (
        "class Net(nn.Module):\n    def forward(self, x):\n"
        "        x = x.to(self.device)\n        if x.is_cuda:\n            return fast(x, device='cuda')\n"
        "        «here()»",
        "once",
        "only where tensors are on the CPU",
    ),
    "where a tensor on the CPU stays there": (
        "class Net(nn.Module):\n    def forward(self, x):\n"
        "        if not x.is_cuda:\n            x = «x.to(torch.float32)».to(x.device).to('cpu').to(y.dtype)",
        "once",
        "only where tensors are on the CPU",
    ),
    "where the program works on the CPU, and moves a tensor there": (
        "class Net(nn.Module):\n    def forward(self, x):\n"
        "        if device.type == 'cpu':\n            x = «x.to(device)»",
        "once",
        "only where tensors are on the CPU",
    ),
    "where the device is one of several": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if x.device.type in ('cpu', 'cuda'):\n"
        "            «here()»",
        "step",
        "in Net.forward",
    ),
    "where the device is not the GPU without a number": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if x.device != torch.device('cuda'):\n"
        "            «here()»",
        "step",
        "in Net.forward",
    ),
    "where the name of the device is not that of the GPU without a number": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if str(x.device) == 'cuda':\n"
        "            return fast(x)\n        «here()»",
        "step",
        "in Net.forward",
    ),
    "where the type of the device is not the GPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if device_type != 'cuda':\n"
        "            «here()»",
        "once",
        "only where tensors are on the CPU",
    ),
    "without a GPU": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if torch.cuda.is_available():\n"
        "            x = x.cuda()\n        elif str(self.device) != 'cuda':\n            «here()»",
        "once",
        "only where tensors are on the CPU",
    ),
    "module level": ("«here()»", "once", "at module level"),
    "once an epoch, after a loop over a progress bar": (
        "for epoch in range(9):\n    for i, batch in pbar:\n        scaler.step(optimizer)\n    «here()»",
        "epoch",
        "in the epoch loop",
    ),
    "a progress bar over epochs": (
        "for epoch in pbar:\n    «here()»\n    for batch in loader:\n        step(batch)",
        "epoch",
        "in the epoch loop",
    ),
    "a training loop": (in_loop("«here()»"), "step", "in the training loop"),
    "a loss that is no module": (
        "class DepthLoss26:\n    def __call__(self, pred, target):\n        «here()»",
        "step",
        "in DepthLoss26.__call__",
    ),
    "a metric of no library": (
        "class DepthMetrics:\n    def update_stats(self, pred):\n        «here()»",
        "step",
        "in DepthMetrics.update_stats",
    ),
    "a step that takes its batch in parts": (
        "def forward_backward(model, parts):\n    «here()»\n    for part in parts:\n"
        "        model(part).backward()",
        "step",
        "in forward_backward",
    ),
    "a function from tensors to tensors": (
        "def safe_divide(num: torch.Tensor, other: float = 0.0) -> torch.Tensor:\n    «here()»",
        "step",
        "in safe_divide",
    ),
    "a method from tensors to several": (
        "class Matcher:\n    def match(self, boxes: Tensor) -> tuple[Tensor, Tensor]:\n        «here()»",
        "step",
        "in Matcher.match",
    ),
    "a function that works on what it is handed, and gives something": (
        "def normals(vertices, faces):\n    «here()»\n    return vertices.unsqueeze(0)",
        "step",
        "in normals",
    ),
    "a function that works on what it is handed, and gives nothing": (
        "def show(vertices):\n    «here()»\n    plot(vertices.unsqueeze(0))",
        "unknown",
        "in show",
    ),
    "a function that works on what it is handed, and promises a text": (
        "def name(vertices) -> str:\n    «here()»\n    return str(vertices.unsqueeze(0))",
        "unknown",
        "in name",
    ),
    "a method that works on what a data set hands it": (
        "class Photos(Dataset):\n    def cut(self, p):\n        «here()»\n        return p.unsqueeze(0)",
        "step",
        "in Photos.cut",
    ),
    "a method of a module that works on tensors": (
        "class Head(nn.Module):\n    def refine(self, found):\n        «here()»\n"
        "        best = torch.where(found['a'] == 1, found['b'], 0)\n        return torch.sum(best)",
        "step",
        "in Head.refine",
    ),
    "a method of a module that hardly works on tensors": (
        "class Head(nn.Module):\n    def refine(self, found):\n        «here()»\n"
        "        return torch.sum(found['a'])",
        "unknown",
        "in Head.refine",
    ),
    "preparing what is on the GPU": (
        "class Dispatcher:\n    def preprocess(self, ids: torch.Tensor) -> torch.Tensor:\n        «here()»",
        "step",
        "in Dispatcher.preprocess",
    ),
    "decoding with a model that is handed on": (
        "def generate(draft, model, n):\n    while n:\n        «here()»\n        n -= look(draft, model)",
        "step",
        "in the decoding loop",
    ),
    "a function that takes tensors apart": (
        "def describe(weights: torch.Tensor) -> str:\n    «here()»",
        "unknown",
        "in describe",
    ),
    "a function that makes tensors of sizes": (
        "def frequencies(dim: int, end: int) -> torch.Tensor:\n    «here()»",
        "unknown",
        "in frequencies",
    ),
    "a function from tensors to tensors that set-up calls": (
        "def scaled(table: torch.Tensor) -> torch.Tensor:\n    «here()»\n\n\n"
        "class Net(nn.Module):\n    def __init__(self):\n        self.table = scaled(torch.ones(3))",
        "once",
        "in scaled, called from Net.__init__",
    ),
    "before the loop": (
        TRAIN.format("").replace("start = 1", "«here()»"),
        "epoch",
        "in train",
    ),
    "the header of the loop": (
        "def train(model, o):\n    for x in «here()»:\n        model(x).backward()\n        o.step()",
        "epoch",
        "in train",
    ),
    "a while's test": (
        "while «here()»:\n    loss = model(x)\n    loss.backward()\n    optimizer.step()",
        "step",
        "in the training loop",
    ),
    "a loop over epochs": (
        "for epoch in range(9):\n    for x in loader:\n        model(x).backward()\n"
        "        optimizer.step()\n    «here()»",
        "epoch",
        "in the epoch loop",
    ),
    "one batch an epoch": (
        "for epoch in range(9):\n    model(data).sum().backward()\n    optimizer.step()\n    «here()»",
        "step",
        "in the training loop",
    ),
    "losses in a loop of their own": (
        "for step in range(9):\n    «here()»\n    for loss in losses:\n        loss.backward()\n"
        "    for optimizer in optimizers:\n        optimizer.step()",
        "step",
        "in the training loop",
    ),
    "a step in a function": (
        "def step(x):\n    model(x).sum().backward()\n    optimizer.step()\nfor i in range(9):\n"
        "    step(i)\n    «here()»",
        "step",
        "in the training loop",
    ),
    "an epoch in a function": (
        "def epoch():\n    for x in loader:\n        model(x).sum().backward()\n        optimizer.step()\n"
        "for i in range(9):\n    epoch()\n    «here()»",
        "epoch",
        "in the epoch loop",
    ),
    "with a gradient scaler": (
        "for x in range(9):\n    scaler.scale(model(x)).backward()\n    scaler.step(optimizer)\n    «here()»",
        "step",
        "in the training loop",
    ),
    "with accelerate": (
        "for x in data:\n    accelerator.backward(model(x))\n    «here()»",
        "step",
        "in the training loop",
    ),
    "an evaluation loop": (
        "def evaluate(model, loader):\n    for x in loader:\n        model(x)\n        «here()»",
        "step",
        "in the evaluation loop",
    ),
    "after the evaluation loop": (
        "def evaluate(model, loader):\n    for x in loader:\n        model(x)\n    return «here()»",
        "epoch",
        "in evaluate",
    ),
    "a loader inside wrappers": (
        "from tqdm import tqdm\nfor i, x in enumerate(tqdm(self.train_dataloader)):\n    «here()»",
        "step",
        "in the loop over batches",
    ),
    "a decoding loop": (
        "def generate(model, ids):\n    for _ in range(20):\n        ids = model(ids)\n        «here()»",
        "step",
        "in the decoding loop",
    ),
    "a loop that runs a model": (
        "def main():\n    for image in images:\n        model(image)\n        «here()»",
        "step",
        "in the loop that runs the model",
    ),
    "a plain loop": ("for x in range(9):\n    «here()»", "once", "at module level"),
    "a comprehension in a loop": (in_loop("[«here(x)» for x in y]"), "step", "in the training loop"),
    "forward": (
        "class Net(nn.Module):\n    def forward(self, x):\n        «here()»",
        "step",
        "in Net.forward",
    ),
    "a loop in forward": (
        "class Net(nn.Module):\n    def forward(self, x):\n        for y in x:\n            «here()»",
        "step",
        "in Net.forward",
    ),
    "construction": (
        "class Net(nn.Module):\n    def __init__(self):\n        for i in range(9):\n            «here()»",
        "once",
        "in Net.__init__",
    ),
    "a helper of the constructor": (
        "class Net(nn.Module):\n    def __init__(self):\n        self.table()\n    def table(self):\n"
        "        «here()»",
        "once",
        "in Net.table, called from Net.__init__",
    ),
    "a helper of forward": (
        "class Net(nn.Module):\n    def forward(self, x):\n        return self.table()\n"
        "    def table(self):\n        «here()»",
        "step",
        "in Net.table, called from Net.forward",
    ),
    "a helper of both": (
        "class Net(nn.Module):\n    def __init__(self):\n        self.table()\n    def forward(self, x):\n"
        "        return self.table()\n    def table(self):\n        «here()»",
        "step",
        "in Net.table, called from Net.forward",
    ),
    "a helper of a helper": (
        "class Net(nn.Module):\n    def forward(self, x):\n        return a(x)\ndef a(x):\n    return b(x)\n"
        "def b(x):\n    «here()»",
        "step",
        "in b, called from a",
    ),
    "a method that nobody calls here": (
        "class Net(nn.Module):\n    def position_ids(self):\n        «here()»",
        "unknown",
        "in Net.position_ids",
    ),
    "a builder that forward calls": (
        "class Net(nn.Module):\n    def forward(self, x):\n        return self.build_mask(x)\n"
        "    def build_mask(self, x):\n        «here()»",
        "step",
        "in Net.build_mask, called from Net.forward",
    ),
    "a builder that nobody calls here": (
        "class Net(nn.Module):\n    def build_mask(self, x):\n        «here()»",
        "once",
        "in Net.build_mask",
    ),
    "a method that a base calls": (
        "class Base(nn.Module):\n    def forward(self, x):\n        return self.part(x)\n"
        "class Net(Base):\n    def part(self, x):\n        «here()»",
        "step",
        "in Net.part, called from Base.forward",
    ),
    "a function handed over": (
        "def act(x):\n    «here()»\nclass Net(nn.Module):\n    def forward(self, x):\n"
        "        return run(act, x)",
        "step",
        "in act, called from Net.forward",
    ),
    "a hook runs later": (
        "class Net(nn.Module):\n    def __init__(self):\n        self.register_forward_hook(self.seen)\n"
        "    def seen(self, *a):\n        «here()»",
        "unknown",
        "in Net.seen",
    ),
    "an initialiser that apply calls": (
        "class Net(nn.Module):\n    def __init__(self):\n        self.apply(self.fill)\n"
        "    def fill(self, m):\n        «here()»",
        "once",
        "in Net.fill, called from Net.__init__",
    ),
    "a cached function": (
        "from functools import lru_cache\n@lru_cache(None)\ndef table(n):\n    «here()»\n"
        "class Net(nn.Module):\n    def forward(self, x):\n        return table(3)",
        "once",
        "in table",
    ),
    "a recursive function": (
        "class Net(nn.Module):\n    def forward(self, x):\n        return walk(x)\n"
        "def walk(x):\n    «here()»\n    return walk(x)",
        "step",
        "in walk, called from Net.forward",
    ),
    "a closure": (
        "class Net(nn.Module):\n    def forward(self, x):\n        def inner(y):\n            «here()»\n"
        "        return run(inner)",
        "step",
        "in Net.forward.inner",
    ),
    "a lightning step": (
        "class Net(L.LightningModule):\n    def training_step(self, batch, i):\n        «here()»",
        "step",
        "in Net.training_step",
    ),
    "a loss function": ("def dice_loss(p, t):\n    «here()»", "step", "in dice_loss"),
    "an autograd function": (
        "class Fn(torch.autograd.Function):\n    @staticmethod\n    def backward(ctx, g):\n        «here()»",
        "step",
        "in Fn.backward",
    ),
    "a sample of a data set": (
        "class Photos(Dataset):\n    def __getitem__(self, i):\n        «here()»",
        "step",
        "in Photos.__getitem__",
    ),
    "a function that only starts the training": ("def train(args):\n    «here()»", "unknown", "in train"),
    "an evaluation without a loop": ("def evaluate(args):\n    «here()»", "epoch", "in evaluate"),
    "a check that is named like an evaluation": (
        "def validate_shape(x):\n    «here()»",
        "unknown",
        "in validate_shape",
    ),
    "decoding of something else": (
        "class Clip:\n    def decode(self):\n        «here()»",
        "unknown",
        "in Clip.decode",
    ),
    "generation by a module": (method("greedy_decode"), "step", "in Net.greedy_decode"),
    "loading": ("def load_weights(path):\n    for k in path:\n        «here()»", "once", "in load_weights"),
    "main": ("def main():\n    «here()»", "once", "in main"),
    "a default of a parameter": (
        "class Net(nn.Module):\n    def forward(self, x=«here()»):\n        pass",
        "once",
        "at module level",
    ),
    "a guarded function": (
        in_loop("if step % 10 == 0:\n    show(loss)") + "def show(x):\n    «here()»",
        "epoch",
        "in show, called from train",
    ),
}


@pytest.mark.parametrize(("marked", "hotness", "why"), PLACES.values(), ids=PLACES)
def test_how_often_a_place_runs(marked: str, hotness: str, why: str) -> None:
    facts, node = look("import lightning.pytorch as L\n" + marked)
    assert (facts.hotness(node).value, facts.why_hot(node)) == (hotness, why)


GUARDS = {
    "every n steps": ("if step % 10 == 0:\n    «here()»", "epoch"),
    "every n steps, short": ("if not step % 10:\n    «here()»", "epoch"),
    "every n steps, by configuration": (
        "if (step + 1) % args.every == 0 and args.loud:\n    «here()»",
        "epoch",
    ),
    "on the last of n steps": ("if step % 10 == 9:\n    «here()»", "epoch"),
    "on the other steps": ("if step % 10 == 0:\n    pass\nelse:\n    «here()»", "step"),
    "on all but every nth": ("if step % 10 != 0:\n    «here()»", "step"),
    "on all but every nth, short": ("if step % 10:\n    «here()»", "step"),
    "after leaving on the others": ("if step % 10 != 0:\n    continue\n«here()»", "epoch"),
    "after leaving on every nth": ("if step % 10 == 0:\n    continue\n«here()»", "step"),
    "one of many conditions": ("if step % 10 == 0 or big:\n    «here()»", "step"),
    "behind a flag": ("if args.debug:\n    «here()»", "epoch"),
    "behind the absence of a flag": ("if not args.debug:\n    «here()»", "step"),
    "on one rank": ("if rank == 0:\n    «here()»", "epoch"),
    "on the first rank or the only one": ("if args.local_rank in [-1, 0]:\n    «here()»", "epoch"),
    "on ranks below the second": ("if args.local_rank < 1:\n    «here()»", "epoch"),
    "on ranks up to the first": ("if rank <= 0:\n    «here()»", "epoch"),
    "beside the further ranks": ("if rank > 0:\n    pass\nelse:\n    «here()»", "epoch"),
    "on all ranks but the first": ("if args.local_rank not in [-1, 0]:\n    «here()»", "step"),
    "on the further ranks": ("if rank > 0:\n    «here()»", "step"),
    "where there are no ranks": ("if args.local_rank == -1:\n    «here()»", "step"),
    "where there are no ranks, told otherwise": ("if args.local_rank < 0:\n    «here()»", "step"),
    "in the main process": ("if accelerator.is_main_process:\n    «here()»", "epoch"),
    "when it is time to log": ("if self.should_log(step):\n    «here()»", "epoch"),
    "where a folder for logs was named": ("if args.log_dir:\n    «here()»", "step"),
    "after leaving where no folder was named": (
        "if not exists(self.checkpoint_path):\n    continue\n«here()»",
        "step",
    ),
    "at chosen steps": ("if step in (0, 100):\n    «here()»", "epoch"),
    "at the first step": ("if step == 0:\n    «here()»", "epoch"),
    "in training mode": ("if self.training:\n    «here()»", "step"),
    "for some kind of loss": ("if args.loss == 'l1':\n    «here()»", "step"),
    "when something was given": ("if mask is not None:\n    «here()»", "step"),
    "when nothing was given": ("if mask is None:\n    mask = «here()»", "step"),
    "the first time": ("if self.mask is None:\n    self.mask = «here()»", "once"),
    "the first time, by hasattr": ("if not hasattr(self, 'mask'):\n    self.mask = «here()»", "once"),
    "the first time for a size": ("if n not in self.masks:\n    self.masks[n] = «here()»", "once"),
    "the first time, as a buffer": (
        "if self.mask is None:\n    self.register_buffer('mask', «here()»)",
        "once",
    ),
    "the first time or for a new size": (
        "if self.mask is None or self.mask.shape[0] < n:\n    self.mask = «here()»",
        "epoch",
    ),
    "the first time or whenever something else is so": (
        "if self.mask is None or self.training:\n    self.mask = «here()»",
        "step",
    ),
    "for a new size, and kept elsewhere": (
        "if self.mask is None or self.mask.shape[0] < n:\n    mask = «here()»",
        "step",
    ),
    "the first time for a parameter": ("if len(state) == 0:\n    state['m'] = «here()»", "once"),
    "when there is nothing": ("if len(batch) == 0:\n    x = «here()»", "step"),
    "when a tensor has no elements": ("if boxes.numel() == 0:\n    «here()»\n    continue", "epoch"),
    "when a batch has no rows": ("if boxes.shape[0] == 0:\n    «here()»\n    continue", "epoch"),
    "when there is something else for no rows": ("if boxes.size(0) == 0:\n    «here()»", "step"),
    "every time there is none": ("if self.mask is None:\n    mask = «here()»", "step"),
    "before an exception": ("if bad:\n    «here()»\n    raise ValueError", "once"),
    "before the end of the loop": ("if done:\n    «here()»\n    break", "epoch"),
    "in a handler": ("try:\n    pass\nexcept E:\n    «here()»", "epoch"),
    "while a model is exported": ("if torch.onnx.is_in_onnx_export():\n    «here()»", "once"),
    "a loop inside a guard": ("if step % 10 == 0:\n    for x in val_loader:\n        «here()»", "step"),
    "an elif": ("if a:\n    pass\nelif step % 10 == 0:\n    «here()»", "epoch"),
    "nested guards": ("if a:\n    if step % 10 == 0:\n        if b:\n            «here()»", "epoch"),
}


@pytest.mark.parametrize(("body", "hotness"), GUARDS.values(), ids=GUARDS)
def test_guards_in_a_training_loop(body: str, hotness: str) -> None:
    facts, node = look(in_loop(body))
    assert facts.hotness(node).value == hotness


def test_a_cache_filled_after_an_early_return() -> None:
    facts, node = look(
        "class Net(nn.Module):\n    def forward(self, n):\n        if self.mask is not None:\n"
        "            return self.mask\n"
        "        self.mask = «here()»\n        return self.mask"
    )
    assert facts.hotness(node).value == "once"


def test_a_flag_that_is_written_into_after_an_early_return() -> None:
    facts, node = look(
        "class Net(nn.Module):\n    def forward(self, x):\n        if self.ready:\n"
        "            return\n"
        "        self.scale.data.copy_(«here()»)\n        self.ready.data.fill_(1)"
    )
    assert facts.hotness(node).value == "once"


SHARED = """
windows = {{}}

class Net(nn.Module):
    def forward(self, x{also}):
        n = x.shape[0]
{before}
        if n not in windows:
            windows[n] = «here()»
        return windows[n]
"""


@pytest.mark.parametrize(
    ("also", "before", "hotness"),
    [("", "", "once"), ("", "        windows = {}", "step"), (", windows", "", "step")],
    ids=["of the module", "of the call", "handed over"],
)
def test_a_container_that_is_filled(also: str, before: str, hotness: str) -> None:
    facts, node = look(SHARED.format(also=also, before=before))
    assert facts.hotness(node).value == hotness


def test_a_guard_does_not_warm_what_is_cold() -> None:
    facts, node = look("if step % 10 == 0:\n    «here()»")
    assert facts.hotness(node).value == "once"
