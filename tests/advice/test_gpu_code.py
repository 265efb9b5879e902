"""Which files have a score: those with code that works on the GPU."""

from __future__ import annotations

import pytest
from scoring import checked

from warplint.advice.score.file_score import score

WITH = {
    "a model": "from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x",
    "a model of a library": "import lightning.pytorch as pl\nclass Net(pl.LightningModule):\n    pass",
    "layers put together": "import torch\ndef make(width):\n    return torch.nn.Linear(width, width)",
    "a model that is loaded": "import transformers\nm = transformers.AutoModel.from_pretrained('x')",
    "a step": "import torch\ndef step(loss):\n    loss.backward()",
    "a loader": "from torch.utils.data import DataLoader\ndef make(data):\n    return DataLoader(data)",
    "a tensor": "import torch as t\nx = t.zeros(3)",
    "functions on tensors": "from torch import Tensor\ndef mean(x: Tensor | None):\n    return x.mean()",
    "an evaluation": "import torch\n@torch.no_grad()\ndef evaluate(net, x):\n    return net(x)",
    "a wrapper that trains": "from transformers import Trainer\nTrainer(model).train()",
    "an optimizer": "from torch.optim import Optimizer\nclass Mine(Optimizer):\n    pass",
}

WITHOUT = {
    "nothing": "",
    "plain Python": "import os\nprint(os.getcwd())",
    "arrays": "import numpy as np\nx = np.zeros(3)",
    "the word in a comment": "# import torch\nx = zeros(3)",
    "the word in a text": "print('torch.zeros(3)')",
    "an unused import": "import torch\n__all__ = ['torch']",
    "a version": "import torch\nprint(torch.__version__, torch.cuda.is_available(), torch.version.cuda)",
    "a device": "import torch\ndef pick(name):\n    return torch.device(name)",
    "a seed": "import torch\ntorch.manual_seed(0)",
    "a configuration": "import transformers\nclass Mine(transformers.PretrainedConfig):\n    width = 3",
    "a tokenizer": "from transformers import AutoTokenizer\nt = AutoTokenizer.from_pretrained('x')",
    "a data set": (
        "import torch\nfrom torch.utils.data import Dataset\nclass Lines(Dataset):\n"
        "    def __getitem__(self, i):\n        return torch.tensor(self.lines[i])"
    ),
    "a name of this file": "from torch import nn\ndef zeros(n):\n    return n\nx = zeros(3)",
    "what does not parse": "import torch\ndef f(:\n    torch.zeros(3)",
}


@pytest.mark.parametrize("text", WITH.values(), ids=WITH)
def test_gpu_code_has_a_score(text: str) -> None:
    assert score(checked(text)) is not None


@pytest.mark.parametrize("text", WITHOUT.values(), ids=WITHOUT)
def test_other_files_have_none(text: str) -> None:
    assert score(checked(text)) is None
