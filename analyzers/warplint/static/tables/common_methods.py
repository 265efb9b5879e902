"""Method names so common that a call of one on an unknown object says nothing about which class it is.

Source: the methods of Python's containers, files and loggers, of tensors, nn.Module, optimizers and trainers.
"""

from __future__ import annotations

from warplint.static.tables.words import words

COMMON_METHODS = words(
    """
    add all any append apply backward build call clear clone close compute copy count cpu create cuda
    detach encode decode eval evaluate extend fit flush float format forward generate get half index info
    init insert item items join keys load log loss max mean min next open parse pop predict print process
    put read register remove render reset run sample save send set setup size sort split start state_dict
    step stop sum to train transform update validate values view write zero_grad __init__ __call__
    """
)
