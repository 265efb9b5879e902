"""Which fixes of the precision rules may change what a program does."""

from __future__ import annotations

from pathlib import Path

from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.fixing import fix_reported
from warplint_rules.precision.cuda_amp_names import CudaAmpNames

TEXT = """\
import torch


def set_up():
    with torch.cuda.amp.autocast():
        return torch.cuda.amp.GradScaler()
"""


def test_a_scaler_of_another_class_is_made_only_on_request() -> None:
    analyzer = Analyzer([CudaAmpNames()])
    source = SourceText(TEXT, Path("site.py"))
    safe = fix_reported(analyzer, source, lambda analysis: analysis.findings, unsafe=False)
    assert safe.text == TEXT.replace("torch.cuda.amp.autocast()", 'torch.amp.autocast("cuda")')
