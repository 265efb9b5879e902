"""Programs that show that all of their work is on the CPU."""

from __future__ import annotations

from warplint.static.facts import Facts

SCRIPT = r"__name__\s*==\s*[\"']__main__"
_DEVICES = (
    r"cuda|gpu|device|\bmps\b|\b[xnh]pu\b|xla|\.to\(|type_as|\.prepare\(|accelerat|catalyst|colossal|composer"
    r"|dataparallel|ddp|deepspeed|distributed|fabric|fastai|fsdp|horovod|ignite|lightning|nccl|\bpl\.|\bray\b"
    r"|skorch|trainer"
)
DEVICES = "(?im)" + "|".join(rf"^[^#\n]*{word}" for word in _DEVICES.split("|"))
"""What a file mentions that moves a model or its data, or a framework that does so unasked; no comments."""


def stays_on_cpu(facts: Facts) -> bool:
    """Whether a file is a program that trains a model by itself and nowhere names a device to do so on.

    What only defines models or steps of training is told nothing by that: who imports it moves them. Nor is
    a program whose model another file makes, which may have moved it.
    """
    # Whether it is a program is asked first, since that hardly ever changes while a file is written.
    if not facts.mentions(SCRIPT):
        return False
    trains = facts.is_called("backward") and facts.is_called("parameters")
    return trains and not facts.mentions(DEVICES) and facts.makes_what_it_trains()
