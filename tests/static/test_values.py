"""What the engine knows of an expression's value."""

from __future__ import annotations

import pytest
from marks import kind_and_place, look

FORWARD = """
class Net(nn.Module):
    def __init__(self, n, block):
{init}
    def forward(self, x, mask=None):
{body}
"""


def forward(body: str, init: str = "super().__init__()") -> str:
    """A module with these statements in its ``forward`` and ``__init__``."""

    def indented(text: str) -> str:
        return "\n".join(" " * 8 + line for line in text.splitlines())

    return FORWARD.format(init=indented(init), body=indented(body))


SCRIPT = {
    "what has a numbered dimension": ("def f(u):\n    «u».sum(dim=-1)", "tensor"),
    "what has named dimensions": ("def f(u):\n    «u».mean(dim='time')", "unknown"),
    "what has axes": ("def f(u):\n    «u».sum(axis=-1)", "unknown"),
    "a model that is handed a batch": (
        "class T:\n    def f(self, b):\n        y = «self.model(**b)»",
        "tensor",
    ),
    "a model that is handed a batch by name": (
        "class T:\n    def f(self, b):\n        y = «self.llm(input_ids=b)»",
        "tensor",
    ),
    "a model that is handed who knows what": (
        "class T:\n    def f(self, b):\n        y = «self.model(b)»",
        "unknown",
    ),
    "no model that is handed options": (
        "class T:\n    def f(self, b):\n        y = «self.parse(**b)»",
        "unknown",
    ),
    "a helper that is handed no device": (
        "def f(n, device=None):\n    return torch.ones(n, device=device)\nx = «f(3)»",
        "tensor cpu",
    ),
    "a helper that is handed one": (
        "def f(n, device=None):\n    return torch.ones(n, device=device)\nx = «f(3, device='cuda')»",
        "tensor gpu",
    ),
    "a helper that may be handed one": (
        "def f(n, device=None):\n    return torch.ones(n, device=device)\nx = «f(3, **more)»",
        "tensor likely",
    ),
    "a number beside tensors under other keys": (
        "def f(all, k):\n    s = all[k]\n    s['n'] = 0\n    s['a'].unsqueeze(0)\n    return «s['n']»",
        "number",
    ),
    "a tensor beside a number under another key": (
        "def f(all, k):\n    s = all[k]\n    s['n'] = 0\n    s['a'].unsqueeze(0)\n    return «s['a']»",
        "tensor",
    ),
    "a factory": ("«torch.zeros(3)»", "tensor cpu"),
    "a factory with a literal device": ("«torch.zeros(3, device='cuda:0')»", "tensor gpu"),
    "a factory on the CPU by name": ("«torch.zeros(3, device='cpu')»", "tensor cpu"),
    "a factory on an Apple GPU": ("«torch.zeros(3, device='mps')»", "tensor gpu"),
    "a factory with a device index": ("«torch.zeros(3, device=0)»", "tensor gpu"),
    "a factory with device=None": ("«torch.zeros(3, device=None)»", "tensor cpu"),
    "a factory with more keywords than are written": ("«torch.zeros(3, **options)»", "tensor"),
    "a device held in a variable": ("d = torch.device('cuda')\n«torch.zeros(3, device=d)»", "tensor gpu"),
    "a device chosen by availability": (
        "d = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n«torch.zeros(3, device=d)»",
        "tensor likely",
    ),
    "a device string chosen in branches": (
        "if torch.cuda.is_available():\n    d = 'cuda'\nelse:\n    d = 'cpu'\n«torch.zeros(3).to(d)»",
        "tensor likely",
    ),
    "a device from the command line": ("«torch.zeros(3).to(args.device)»", "tensor likely"),
    "moved by cuda": ("«torch.zeros(3).cuda()»", "tensor gpu"),
    "moved by rank": ("«torch.zeros(3).cuda(rank, non_blocking=True)»", "tensor gpu"),
    "moved back": ("«torch.zeros(3).cuda().cpu()»", "tensor cpu"),
    "moved by to": ("«torch.zeros(3).to('cuda', torch.float16)»", "tensor gpu"),
    "moved by keyword": ("«torch.zeros(3).to(dtype=torch.half, device='cuda')»", "tensor gpu"),
    "a dtype is no device": ("«torch.zeros(3).to(torch.float16)»", "tensor cpu"),
    "a dtype held in a variable": ("«torch.zeros(3).to(weight_dtype)»", "tensor cpu"),
    "a dtype of another tensor": ("t = torch.ones(2).cuda()\n«torch.zeros(3).to(t.dtype)»", "tensor cpu"),
    "to another tensor": ("t = torch.ones(2).cuda()\n«torch.zeros(3).to(t)»", "tensor gpu"),
    "to another tensor's device": ("t = torch.ones(2).cuda()\n«torch.zeros(3).to(t.device)»", "tensor gpu"),
    "an unknown target": ("«torch.zeros(3).to(somewhere())»", "tensor"),
    "type_as": ("t = torch.ones(2).cuda()\n«torch.zeros(3).type_as(t)»", "tensor gpu"),
    "a legacy type that moves": ("«torch.zeros(3).type(torch.cuda.FloatTensor)»", "tensor gpu"),
    "a legacy type that moves back": ("«torch.zeros(3).cuda().type(torch.FloatTensor)»", "tensor cpu"),
    "a type that does not move": ("«torch.zeros(3).cuda().type(torch.float16)»", "tensor gpu"),
    "conversions stay": ("«torch.zeros(3).cuda().float().half().bool()»", "tensor gpu"),
    "like": ("t = torch.ones(2).cuda()\n«torch.zeros_like(t)»", "tensor gpu"),
    "like, told otherwise": ("t = torch.ones(2).cuda()\n«torch.zeros_like(t, device='cpu')»", "tensor cpu"),
    "new": ("t = torch.ones(2).cuda()\n«t.new_zeros(3)»", "tensor gpu"),
    "torch.tensor of numbers": ("«torch.tensor([1, 2])»", "tensor cpu"),
    "torch.tensor of something unknown": ("«torch.tensor(found)»", "tensor cpu"),
    "torch.tensor of a tensor": ("t = torch.ones(2).cuda()\n«torch.tensor(t)»", "tensor gpu"),
    "as_tensor of something unknown": ("«torch.as_tensor(found)»", "tensor"),
    "as_tensor of an array": ("«torch.as_tensor(np.zeros(3))»", "tensor cpu"),
    "from_numpy": ("«torch.from_numpy(a)»", "tensor cpu"),
    "legacy constructors": ("«torch.LongTensor([1])»", "tensor cpu"),
    "legacy constructors on the GPU": ("«torch.cuda.LongTensor([1])»", "tensor gpu"),
    "arithmetic with numbers": ("«torch.zeros(3) * 2 + 1»", "tensor cpu"),
    "arithmetic of two places": ("«torch.zeros(3) + torch.ones(3).cuda()»", "tensor gpu"),
    "arithmetic with the unknown": ("«torch.zeros(3) + thing»", "tensor cpu"),
    "comparison": ("«torch.zeros(3) > 0»", "tensor cpu"),
    "identity is a number": ("«torch.zeros(3) is None»", "number"),
    "not": ("«not torch.zeros(3)»", "number"),
    "subscripts": ("«torch.zeros(3).cuda()[1:, None]»", "tensor gpu"),
    "transposed": ("«torch.zeros(3, 3).cuda().T»", "tensor gpu"),
    "a shape": ("n, c = torch.zeros(3, 4).shape\n«n»", "number"),
    "a size": ("«torch.zeros(3).size(0)»", "number"),
    "a part of a shape": ("«torch.zeros(3).shape[0]»", "number"),
    "a number of elements": ("«torch.zeros(3).numel()»", "number"),
    "item": ("«torch.zeros(3).sum().item()»", "number"),
    "tolist": ("«torch.zeros(3).tolist()»", "sequence"),
    "numpy": ("«torch.zeros(3).cpu().numpy()»", "ndarray"),
    "arrays stay arrays": ("«np.zeros(3).mean(0)»", "ndarray"),
    "an array's item": ("«np.zeros(3).max().item()»", "number"),
    "functions of the math module": ("import math\n«math.sqrt(2)»", "number"),
    "a number drawn": ("import random\n«random.random()»", "number"),
    "several drawn": ("import random\n«random.sample(range(9), 3)»", "unknown"),
    "functional": ("«F.softmax(torch.ones(3).cuda(), -1)»", "tensor gpu"),
    "linear algebra": ("«torch.linalg.inv(torch.eye(3))»", "tensor cpu"),
    "cat": ("t = torch.zeros(3).cuda()\n«torch.cat([t, t])»", "tensor gpu"),
    "stack of a list": ("ts = [torch.zeros(3).cuda()]\n«torch.stack(ts)»", "tensor gpu"),
    "maximum without a dimension": ("«torch.zeros(3).cuda().max()»", "tensor gpu"),
    "maximum with a dimension": ("«torch.zeros(3).cuda().max(1)»", "sequence"),
    "values and indices": ("v, i = torch.max(torch.zeros(3).cuda(), 1)\n«i»", "tensor gpu"),
    "topk unpacked": ("v, i = torch.zeros(3).cuda().topk(2)\n«v»", "tensor gpu"),
    "where with one argument": ("a, b = torch.where(torch.zeros(3).cuda() > 0)\n«a»", "tensor gpu"),
    "equal gives a number": ("«torch.equal(a, b)»", "number"),
    "manual_seed gives none": ("«torch.manual_seed(1)»", "unknown"),
    "loading says nothing": ("«torch.load('x.pt')»", "unknown"),
    "a dtype": ("«torch.float16»", "dtype"),
    "a module": ("«nn.Linear(3, 4)»", "module"),
    "a module moved": ("«nn.Linear(3, 4).to('cuda').eval()»", "module gpu"),
    "a module moved in place": ("m = nn.Linear(3, 4)\nm.cuda()\n«m»", "module gpu"),
    "what a moved module gives": ("m = nn.Linear(3, 4).cuda()\n«m(images)»", "tensor gpu"),
    "what an unmoved module gives": ("m = nn.Linear(3, 4)\n«m(torch.zeros(3))»", "tensor cpu"),
    "a compiled module": ("m = torch.compile(nn.Linear(3, 4).cuda())\n«m(images)»", "tensor gpu"),
    "an optimizer": ("«torch.optim.SGD(ps, lr=1)»", "optimizer"),
    "a loader": ("«DataLoader(d)»", "loader"),
    "a batch from a loader": ("for a, b in DataLoader(d):\n    «b»", "tensor cpu"),
    "a batch counted": ("for i, (a, b) in enumerate(DataLoader(d)):\n    «b»", "tensor cpu"),
    "the counter": ("for i, (a, b) in enumerate(DataLoader(d)):\n    «i»", "number"),
    "a batch with a progress bar": (
        "from tqdm import tqdm\nfor a, b in tqdm(DataLoader(d)):\n    «b.to('cuda')»",
        "tensor gpu",
    ),
    "a batch of a dictionary": ("for batch in DataLoader(d):\n    «batch['x']»", "tensor cpu"),
    "a batch moved as one": (
        "for batch in DataLoader(d):\n    batch = batch.to('cuda')\n    «batch['x']»",
        "tensor gpu",
    ),
    "a batch moved in a comprehension": (
        "for b in DataLoader(d):\n    b = {k: v.to('cuda') for k, v in b.items()}\n    «b['x']»",
        "tensor gpu",
    ),
    "unpacking": ("a, (b, *c) = 1, (torch.zeros(3).cuda(), 2)\n«b»", "tensor gpu"),
    "unpacking a moved pair": ("a, b = a.cuda(), b.cpu()\n«b»", "unknown"),
    "chained assignment": ("a = b = torch.zeros(3)\n«a»", "tensor cpu"),
    "walrus": ("if (a := torch.zeros(3)) is not None:\n    «a»", "tensor cpu"),
    "a batch that is one tensor": (
        "for images in DataLoader(d):\n    images = images.cuda()\n    «images»",
        "tensor gpu",
    ),
    "a batch moved as one, then taken apart": (
        "for batch in DataLoader(d):\n    batch = batch.cuda()\n    a, b = batch\n    «batch»",
        "sequence",
    ),
    "a batch handed over by its names": (
        "for batch in DataLoader(d):\n    batch = batch.to('cuda')\n    f(**batch)\n    «batch»",
        "sequence",
    ),
    "what a tokenizer gives": (
        "tokenizer = load()\nt = tokenizer(text, return_tensors='pt')\n«t.input_ids»",
        "tensor cpu",
    ),
    "what a tokenizer gives, moved": (
        "tokenizer = load()\nt = tokenizer(text, return_tensors='pt').to('cuda')\n«t['input_ids']»",
        "tensor gpu",
    ),
    "what a tokenizer gives as lists": ("tokenizer = load()\nt = tokenizer(text)\n«t.input_ids»", "unknown"),
    "computed with a setting": ("«torch.ones(3) * config.theta»", "tensor cpu"),
    "computed with a size": ("«dim * torch.ones(3)»", "tensor cpu"),
    "computed with anything": ("«torch.ones(3) * scale»", "tensor cpu"),
    "the content of anything": ("«g.data.double()»", "tensor"),
    "the text of anything": ("«g.data.split()»", "unknown"),
    "shown by a function of torch": ("a = f()\nb = torch.sum(a)\n«a»", "tensor"),
    "handed to a function of torch": ("torch.nonzero(«found['a'] == 1»)", "tensor"),
    "handed to a function of torch that takes numbers too": ("torch.zeros(«found['a']»)", "unknown"),
    "shown by nothing": ("a = f()\nb = torch.sum(c)\n«a»", "unknown"),
    "refused by a check": (
        "v = torch.ones(3)\nif isinstance(v, torch.Tensor):\n    v = None\nelse:\n    «v»",
        "unknown",
    ),
    "checked by an operand before": (
        "v = torch.ones(3)\nx = isinstance(v, tuple) and «v»",
        "sequence",
    ),
    "augmented": ("a = torch.zeros(3)\na += torch.ones(3)\n«a»", "tensor cpu"),
    "augmented from a number": ("a = 0\na += torch.ones(3).cuda()\n«a»", "tensor gpu"),
    "branches that agree": ("if c:\n    a = torch.zeros(3)\nelse:\n    a = torch.ones(3)\n«a»", "tensor cpu"),
    "branches that differ": ("if c:\n    a = torch.zeros(3)\nelse:\n    a = 3\n«a»", "unknown"),
    "branches that differ in place": ("a = torch.zeros(3)\nif c:\n    a = a.cuda()\n«a»", "tensor"),
    "a branch that leaves": (
        "def f(c):\n    a = 3\n    if c:\n        return a\n    else:\n        a = torch.zeros(1)\n    «a»",
        "tensor cpu",
    ),
    "none and then a tensor": ("a = None\nif c:\n    a = torch.zeros(3)\n«a»", "tensor cpu"),
    "what a loop leaves": ("a = 0\nfor i in range(3):\n    a = a + torch.ones(3).cuda()\n«a»", "unknown"),
    "what a loop carries": ("a = torch.zeros(3)\nfor i in range(3):\n    «a»\n    a = a.cuda()", "tensor"),
    "a loop that is broken out of": ("a = 3\nwhile True:\n    a = torch.zeros(3)\n    break\n«a»", "unknown"),
    "with": ("with thing() as a:\n    b = torch.zeros(3)\n«b»", "tensor cpu"),
    "try": ("try:\n    a = torch.zeros(3)\nexcept E:\n    a = torch.ones(3)\n«a»", "tensor cpu"),
    "a deleted name": ("a = torch.zeros(3)\ndel a\n«a»", "unknown"),
    "a conditional expression": ("«torch.zeros(3) if c else torch.ones(3)»", "tensor cpu"),
    "a list built by append": (
        "a = []\nfor i in b:\n    a.append(torch.zeros(3).cuda())\n«a[0]»",
        "tensor gpu",
    ),
    "a comprehension": ("a = [torch.zeros(3) for _ in range(3)]\n«a[0]»", "tensor cpu"),
    "a comprehension's own names": ("t = 3\n[t for t in [torch.zeros(3)]]\n«t»", "number"),
    "inside a comprehension": ("[«t» for t in [torch.zeros(3)] if True]", "tensor cpu"),
    "the keys of a dictionary": ("a = {'x': torch.zeros(3)}\nfor k in a:\n    «k»", "unknown"),
    "the values of a dictionary": ("a = {'x': torch.zeros(3)}\nfor v in a.values():\n    «v»", "tensor cpu"),
    "the items of a dictionary": ("a = {'x': torch.zeros(3)}\nfor k, v in a.items():\n    «v»", "tensor cpu"),
    "the list of a dictionary": ("a = {'x': torch.zeros(3)}\n«list(a)[0]»", "unknown"),
    "a dictionary": ("a = {'x': torch.zeros(3)}\n«a['x']»", "tensor cpu"),
    "a lambda": ("f = lambda: torch.zeros(3)\n«f()»", "tensor cpu"),
    "isinstance": ("if isinstance(a, torch.Tensor):\n    «a»", "unknown"),
    "a name from nowhere": ("«mystery»", "unknown"),
    "a shadowed import": ("import numpy as torch\n«torch.zeros(3)»", "ndarray"),
    "a default-device context": ("with torch.device('cuda'):\n    a = torch.zeros(3)\n«a»", "tensor gpu"),
    "after a default-device context": (
        "with torch.device('cuda'):\n    pass\n«torch.zeros(3)»",
        "tensor cpu",
    ),
    "a context of a device variable": (
        "d = torch.device('cuda')\nwith d:\n    a = torch.zeros(3)\n«a»",
        "tensor gpu",
    ),
    "a default device": ("torch.set_default_device('cuda')\n«torch.zeros(3)»", "tensor gpu"),
    "a default type": (
        "torch.set_default_tensor_type(torch.cuda.FloatTensor)\n«torch.zeros(3)»",
        "tensor gpu",
    ),
    "a default dtype moves nothing": (
        "torch.set_default_dtype(torch.float16)\n«torch.zeros(3)»",
        "tensor cpu",
    ),
    "what a helper gives": ("def f(n):\n    return torch.zeros(n)\na = «f(3)»", "tensor cpu"),
    "what a helper of two gives": ("def f(n):\n    return torch.zeros(n), 3\na, b = f(3)\n«b»", "number"),
    "what a recursive helper gives": (
        "def f(n):\n    return torch.zeros(n) if n else f(n - 1)\na = «f(3)»",
        "unknown",
    ),
    "what a generator gives": ("def f():\n    yield torch.zeros(3)\nfor a in f():\n    «a»", "tensor cpu"),
    "a helper's parameter": ("def f(n):\n    return «n»\nf(torch.zeros(3))", "tensor cpu"),
    "a helper's parameter by keyword": (
        "def f(a, n=1):\n    return «n»\nf(2, n=torch.zeros(3))",
        "tensor cpu",
    ),
    "a helper called in two ways": ("def f(n):\n    return «n»\nf(torch.zeros(3))\nf(3)", "unknown"),
    "an annotated parameter": ("def f(n: torch.Tensor):\n    return «n»", "tensor"),
    "an optional parameter": ("def f(n: 'torch.Tensor | None' = None):\n    return «n»", "tensor"),
    "a list of tensors": ("def f(n: list[torch.Tensor]):\n    return «n[0]»", "tensor"),
    "a number": ("def f(n: int):\n    return «n»", "number"),
    "a default number": ("def f(n=1):\n    return «n»", "number"),
    "a number or several": ("def f(n: int | list[int] = 1):\n    return «n»", "unknown"),
    "an array": ("def f(n: np.ndarray):\n    return «n»", "ndarray"),
    "jaxtyping": (
        "from jaxtyping import Float\ndef f(n: Float[torch.Tensor, 'a b']):\n    return «n»",
        "tensor",
    ),
    "calling an object": (
        "class C:\n    def __call__(self):\n        return torch.zeros(3)\nc = C()\n«c()»",
        "tensor cpu",
    ),
    "calling a class method": (
        "class C(nn.Module):\n    @classmethod\n    def new(cls):\n        return cls()\na = «C.new()»",
        "module",
    ),
    "calling a static method": (
        "class C:\n    @staticmethod\n    def f(n):\n        return torch.zeros(n)\na = «C.f(3)»",
        "tensor cpu",
    ),
    "a property": (
        "class C:\n    @property\n    def t(self):\n        return torch.zeros(3)\n«C().t»",
        "tensor cpu",
    ),
    "evidence for what a name holds": (
        "def f(g):\n    d = g()\n    d['x'].unsqueeze(0)\n    «d['x']»",
        "tensor",
    ),
    "losses by name": ("def f(g):\n    losses = g()\n    losses['x'].item()\n    «losses['x']»", "tensor"),
    "fields of topk": ("«torch.zeros(3).cuda().topk(2).values»", "tensor gpu"),
    "the unknown indexed by a tensor": ("«mystery[torch.zeros(3).cuda() > 0]»", "tensor gpu"),
    "evidence in a function": ("def f(n):\n    n.unsqueeze(0)\n    keep(«n»)", "tensor"),
    "no evidence in a function": ("def f(n):\n    return «n»", "unknown"),
    "a default value": ("def f(x=«torch.zeros(3)»):\n    pass", "tensor cpu"),
    "a default value in a class": (
        "class C:\n    def f(self, *, x=«torch.zeros(3)»):\n        pass",
        "tensor cpu",
    ),
    "a default value in a function": ("def g():\n    def f(x=«torch.zeros(3)»):\n        pass", "tensor cpu"),
    "a decorator's argument": ("@d(«torch.zeros(3)»)\ndef f():\n    pass", "tensor cpu"),
    "a class attribute": ("class C:\n    x = «torch.zeros(3)»", "tensor cpu"),
    "a module variable in a function": (
        "d = torch.device('cuda')\ndef f():\n    return «torch.zeros(3, device=d)»",
        "tensor gpu",
    ),
}


@pytest.mark.parametrize(("marked", "expected"), SCRIPT.values(), ids=SCRIPT)
def test_values_in_scripts_and_functions(marked: str, expected: str) -> None:
    assert kind_and_place(marked) == expected


MODULES = {
    "an input": (forward("return «x»"), "tensor likely"),
    "an input with a default": (forward("return «mask»"), "tensor likely"),
    "computed from the input": (forward("y = F.relu(x) * 2\nreturn «y[:, 0]»"), "tensor likely"),
    "a factory": (forward("return «torch.arange(x.shape[1])»"), "tensor cpu"),
    "beside the input": (forward("return «torch.arange(3, device=x.device)»"), "tensor likely"),
    "on the CPU with dimensions, beside who knows what": (
        forward("return «torch.arange(3) * self.unknown - self.other»"),
        "tensor cpu",
    ),
    "a number on the CPU, beside who knows what": (
        forward("return «torch.tensor(3.0) * self.unknown»"),
        "tensor",
    ),
    "a part of what is handed over as one": (
        "class Net(nn.Module):\n    def forward(self, two):\n        one, other = two\n        return «one»",
        "tensor likely",
    ),
    "on a device kept in self": (forward("return «torch.arange(3, device=self.device)»"), "tensor likely"),
    "a parameter": (forward("return «self.w»", "self.w = nn.Parameter(torch.zeros(3))"), "tensor likely"),
    "a buffer": (forward("return «self.b»", "self.register_buffer('b', torch.zeros(3))"), "tensor likely"),
    "a plain tensor attribute stays behind": (
        forward("return «self.t»", "self.t = torch.zeros(3)"),
        "tensor cpu",
    ),
    "a number": (forward("return «self.n»", "self.n = 3"), "number"),
    "a submodule": (forward("return «self.fc»", "self.fc = nn.Linear(3, 3)"), "module likely"),
    "a submodule's result": (forward("return «self.fc(x)»", "self.fc = nn.Linear(3, 3)"), "tensor likely"),
    "a submodule handed in": (forward("return «self.block(x)»", "self.block = block"), "tensor likely"),
    "a list of submodules": (
        forward(
            "for layer in self.layers:\n    x = layer(x)\nreturn «x»", "self.layers = nn.ModuleList([block])"
        ),
        "tensor likely",
    ),
    "a weight": (forward("return «self.fc.weight»", "self.fc = nn.Linear(3, 3)"), "tensor likely"),
    "an attribute set in another method": (
        "class Net(nn.Module):\n    def start(self):\n        self.t = torch.zeros(3)\n"
        "    def forward(self, x):\n        return «self.t»",
        "tensor cpu",
    ),
    "an attribute set just before": (forward("self.t = torch.zeros(3)\nreturn «self.t + 1»"), "tensor cpu"),
    "what a method gives": (
        "class Net(nn.Module):\n    def ids(self, n):\n        return torch.arange(n)\n"
        "    def forward(self, x):\n        return «self.ids(3)»",
        "tensor cpu",
    ),
    "a method's parameter": (
        "class Net(nn.Module):\n    def half(self, some):\n        return «some» / 2\n"
        "    def forward(self, x):\n        return self.half(x)",
        "tensor likely",
    ),
    "an attribute of a base in this file": (
        "class Base(nn.Module):\n    def __init__(self):\n        self.t = torch.zeros(3)\n"
        "class Net(Base):\n    def forward(self, x):\n        return «self.t»",
        "tensor cpu",
    ),
    "a module of this file that gives a tuple": (
        "class A(nn.Module):\n    def forward(self, x):\n        return x, 3\n"
        "class B(nn.Module):\n    def __init__(self):\n        self.a = A()\n"
        "    def forward(self, x):\n        y, n = self.a(x)\n        return «n»",
        "number",
    ),
    "a flag among the inputs": (
        "class Net(nn.Module):\n    def forward(self, x, use_cache):\n        return «use_cache»",
        "unknown",
    ),
    "a dictionary as input": (
        "class Net(nn.Module):\n    def forward(self, inputs):\n        inputs['a']\n        return «inputs»",
        "unknown",
    ),
    "numbers among the inputs": (
        "class Net(nn.Module):\n    def forward(self, x, height: int, steps=3):\n        return «steps»",
        "number",
    ),
    "a data set's tensors are not on the GPU": (
        "class D(Dataset):\n    def __getitem__(self, i):\n        return «self.t.unsqueeze(0)»",
        "tensor",
    ),
    "a model that may return several": (
        forward(
            "y = self.block(x)\nif isinstance(y, tuple):\n    y = y[0]\nreturn «y»", "self.block = block"
        ),
        "tensor likely",
    ),
    "a model's outputs": (
        forward("out = self.block(x)\nreturn «out.logits»", "self.block = block"),
        "tensor likely",
    ),
    "a loss module": (
        forward("return «self.loss(x, x)»", "self.loss = nn.CrossEntropyLoss()"),
        "tensor likely",
    ),
    "torch.autograd functions": (
        "class Fn(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n"
        "        a.unsqueeze(0)\n        return «a»",
        "tensor likely",
    ),
    "an attribute that stays a tensor": (
        """
class Tracker(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = torch.zeros(1, device="cuda")

    def update(self, x):
        self.seen = self.seen > self.limit(x)

    def forward(self, x):
        return «self.seen»
""",
        "tensor gpu",
    ),
    "an attribute that is also set to something unknown": (
        """
class Window:
    def __init__(self):
        self.memory = torch.zeros(3)

    def load(self, state):
        self.memory = state.memory

    def last(self):
        return «self.memory»
""",
        "tensor",
    ),
    "what one of two calls hands on": (
        """
class Net(nn.Module):
    def forward(self, x):
        return self.cut(x)

    def log_prob(self, things):
        return self.cut(things.first())

    def cut(self, x):
        return «x»
""",
        "tensor likely",
    ),
    "the input of a loss that derives from nothing": (
        "class DepthLoss:\n    def __call__(self, pred, target, mode):\n        return «pred»",
        "tensor likely",
    ),
    "a setting of a loss that derives from nothing": (
        "class DepthLoss:\n    def __call__(self, pred, target, mode):\n        return «mode»",
        "unknown",
    ),
    "an input that a text may stand in for": (
        """
class Net(nn.Module):
    def forward(self, prompt_embeds):
        return «prompt_embeds» or ""
""",
        "unknown",
    ),
    "gradients of what may have any place": (
        """
def norms(self):
    return [«p.grad» for p in self.parameters if p.dim() > 1]
""",
        "tensor likely",
    ),
    "an input of an autograd function": (
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        return «x»
""",
        "tensor likely",
    ),
    "what else an autograd function takes": (
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        return «bound»
""",
        "unknown",
    ),
    "what comes back into an autograd function": (
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def backward(ctx, dy):
        return «dy»
""",
        "tensor likely",
    ),
    "what an autograd function keeps of its inputs": (
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, bound = inputs
        return «bound»
""",
        "unknown",
    ),
    "one of the inputs that an autograd function keeps": (
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def setup_context(ctx, inputs, output):
        return «inputs[1]»
""",
        "unknown",
    ),
    "another method of an autograd function": (
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def vmap(info, in_dims, x, values):
        return «values»
""",
        "unknown",
    ),
    "the context of an autograd function by another name": (
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def backward(memory, dy):
        return «memory»
""",
        "unknown",
    ),
    "the context of an autograd function's forward by another name": (
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(memory, x):
        return «memory»
""",
        "unknown",
    ),
    "the first input of an autograd function without a context": (
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x, bound):
        return «x»

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass
""",
        "tensor likely",
    ),
    "gradients of anything": (
        """
class Clip(nn.Module):
    def forward(self, x):
        return [«layer.grad» for layer in layers()]
""",
        "tensor likely",
    ),
}


@pytest.mark.parametrize(("marked", "expected"), MODULES.values(), ids=MODULES)
def test_values_in_modules(marked: str, expected: str) -> None:
    assert kind_and_place(marked) == expected


STEP = """
def train(model, loader, optimizer, criterion, device):
    for images, labels in loader:
        images = images.to(device)
        output = model(images)
        loss = criterion(output, labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {}
"""


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("«loss»", "tensor likely"),
        ("«output.argmax(1)»", "tensor likely"),
        ("«(output.argmax(1) == labels.to(device)).sum()»", "tensor likely"),
        ("«loss.item()»", "number"),
        ("«labels»", "tensor"),
        ("«loss.detach().cpu()»", "tensor cpu"),
        ("far = measure(images).cpu()\n        far.clamp_(0)\n        «far»", "tensor cpu"),
        ("«model»", "module likely"),
        ("«loader»", "loader"),
    ],
)
def test_values_in_a_training_function(statement: str, expected: str) -> None:
    assert kind_and_place(STEP.format(statement)) == expected


FIGURES = """
def summed(values, owner, size):
    out = torch.zeros(size, device=values.device)
    return out.index_add_(0, owner, values)

def {}:
    for batch in loader:
        {}
        «torch.unique(summed(batch.energy, batch.owner, batch.size))»
        torch.save(batch.energy, "energies")
"""


@pytest.mark.parametrize(
    ("signature", "before", "expected"),
    [
        ("average(loader, table)", "table.update(batch.energy)", "tensor"),
        ("average(loader)", "batch = batch.to('cuda')", "tensor likely"),
        ("average(loader, model)", "model(batch.energy)", "tensor likely"),
        ("average(loader, table)", "table.update(batch)", "tensor likely"),
        ("average(loader, table)", "print(len(batch.energy))", "tensor"),
        ("average(loader, siamese)", "siamese(batch.energy)", "tensor likely"),
        ("average(loader, siamese)", "siamese(batch['energy'].float())", "tensor likely"),
        ("average(loader, siamese)", "siamese(**batch)", "tensor likely"),
        ("average(loader, device)", "print(device)", "tensor likely"),
        ("evaluate(loader)", "print(len(loader))", "tensor likely"),
    ],
    ids=[
        "only looked at",
        "moved",
        "run through a model",
        "handed over whole",
        "handed to Python's own",
        "handed over by attribute",
        "handed over by key",
        "spread",
        "told a device",
        "evaluated",
    ],
)
def test_batches_that_only_figures_are_worked_out_of_stay_on_the_host(
    signature: str, before: str, expected: str
) -> None:
    assert kind_and_place(FIGURES.format(signature, before)) == expected


def test_parts_of_a_batch_are_told_from_their_number_and_followed() -> None:
    marked = """
def average(loader, extract):
    for number, (x, y) in enumerate(loader):
        found = extract(x)
        «torch.unique(found)»
"""
    assert kind_and_place(marked) == "tensor likely"


LIKES = {
    "an input is like itself": (forward("return «x»"), "x"),
    "computed from it": (forward("return «F.relu(x) + 1»"), "x"),
    "like": (forward("return «torch.zeros_like(x)»"), "x"),
    "its device": (forward("return «torch.arange(3, device=x.device)»"), "x"),
    "moved to its device": (forward("return «torch.arange(3).to(x.device)»"), "x"),
    "a parameter": (forward("return «self.w + 1»", "self.w = nn.Parameter(torch.zeros(3))"), "self.w"),
    "through a name": (forward("y = self.block(x)\nreturn «y»", "self.block = block"), "x"),
    "of two, the first on the accelerator": (forward("return «torch.arange(3) + x»"), "x"),
    "what is handed over as one has no device": (
        "class Net(nn.Module):\n    def forward(self, two):\n        one, other = two\n        return «one»",
        "one",
    ),
    "a tensor that is taken apart": (
        "class Net(nn.Module):\n    def forward(self, qkv):\n        q, k, v = qkv\n        return «q»",
        "qkv",
    ),
    "a name that is bound anew": (forward("y = x + 1\nx = torch.zeros(3).cuda()\nreturn «y»"), None),
    "a name that is bound to its own": (forward("y = x + 1\nx = x * 2\nreturn «y»"), "x"),
    "a helper's names mean nothing outside": (
        "def f(a: torch.Tensor):\n    return a\ndef g(b):\n    return «f(b)»",
        None,
    ),
}


@pytest.mark.parametrize(("marked", "expected"), LIKES.values(), ids=LIKES)
def test_whose_device_a_value_shares(marked: str, expected: str | None) -> None:
    facts, node = look(marked)
    assert facts.value(node).like == expected


NDIMS = {
    "torch.tensor(1.0)": 0,
    "torch.tensor([1, 2])": 1,
    "torch.tensor([[1], [2]])": 2,
    "torch.zeros(())": 0,
    "torch.zeros([])": 0,
    "torch.zeros(3)": 1,
    "torch.zeros(3, 4)": 2,
    "torch.zeros((3, 4, 5))": 3,
    "torch.zeros(size)": None,
    "torch.zeros(*size)": None,
    "torch.zeros(a, b)": 2,
    "torch.arange(9)": 1,
    "torch.eye(3)": 2,
    "torch.zeros(3).sum()": 0,
    "torch.zeros(3, 3).sum(1)": None,
    "torch.zeros(3, 3)[0]": 1,
    "torch.zeros(3)[0]": 0,
    "torch.full((2, 3), 1.0)": 2,
    "F.cross_entropy(a, b)": 0,
    "torch.ones(3) > torch.zeros(3)": None,
    "torch.tensor(1.0) * 2": 0,
}


@pytest.mark.parametrize(("expression", "expected"), NDIMS.items())
def test_the_number_of_dimensions(expression: str, expected: int | None) -> None:
    facts, node = look(f"«{expression}»")
    assert facts.value(node).ndim == expected


DTYPES = {
    "torch.zeros(3, dtype=torch.long)": "torch.long",
    "torch.zeros(3) > 0": "torch.bool",
    "torch.zeros(3).bool()": "torch.bool",
    "torch.zeros(3).isnan()": "torch.bool",
    "torch.isnan(torch.zeros(3))": "torch.bool",
    "(torch.zeros(3) > 0) & (torch.ones(3) > 0)": "torch.bool",
    "~(torch.zeros(3) > 0)": "torch.bool",
    "torch.zeros(3).argmax()": "torch.int64",
    "torch.randperm(3)": "torch.int64",
    "torch.LongTensor([1])": "torch.int64",
    "torch.zeros(3).to(torch.float16)": "torch.float16",
    "torch.zeros(3, dtype=torch.int64).view(1, 3)": "torch.int64",
    "torch.zeros(3, dtype=bool)": "torch.bool",
    "torch.zeros(3, dtype=float)": "torch.float64",
    "torch.zeros(3)": None,
}


STARRED = "from helpers import *\n"


@pytest.mark.parametrize(
    ("marked", "expected"),
    {
        "«torch.zeros(3)»": "tensor cpu",
        "«np.zeros(3)»": "ndarray",
        "from other import torch\n«torch.zeros(3)»": "unknown",
        "torch = load()\n«torch.zeros(3)»": "unknown",
    }.items(),
)
def test_usual_names_that_a_star_import_can_have_bound(marked: str, expected: str) -> None:
    facts, node = look(marked, STARRED)
    assert (facts.value(node).kind.value + (" cpu" if facts.value(node).on_cpu else "")) == expected


def test_what_is_written_through_indices_on_the_gpu_is_a_tensor_there() -> None:
    facts, node = look(forward("assoc = self.make(x)\n«assoc»[x] = torch.arange(3)"))
    assert facts.value(node).on_accelerator


@pytest.mark.parametrize(("expression", "expected"), DTYPES.items())
def test_the_element_type(expression: str, expected: str | None) -> None:
    facts, node = look(f"«{expression}»")
    assert facts.value(node).dtype == expected


def test_a_global_is_the_same_whatever_is_asked_first() -> None:
    text = (
        "table = torch.zeros(3)\n\ndef train(n):\n    return «table»[n]\n\n"
        "def test(n):\n    return table[n]\n\nx = train(1)\ny = test(2)"
    )
    facts, node = look(text)
    assert facts.value(node).on_cpu


def test_a_name_tells_the_one_expression_it_comes_from() -> None:
    facts, node = look("sizes = [1, 2]\nshape = sizes\ntorch.zeros(«shape»)")
    origin = facts.value(node).origin
    assert origin is not None and facts.span(origin).start == facts.span(facts.statement(origin)).start + 8


def test_a_class_is_found_by_its_instance() -> None:
    facts, node = look("class Photos(Dataset):\n    pass\nd = Photos()\nDataLoader(«d»)")
    found = facts.class_of(node)
    assert found is not None and found.name == "Photos"
    for nothing in ("«torch.zeros(3)»", "class Photos(Dataset):\n    pass\n«Photos»"):
        facts, node = look(nothing)
        assert facts.class_of(node) is None
