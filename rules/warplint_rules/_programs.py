"""Programs that show that all of their work is on the CPU."""

from __future__ import annotations

from warplint.static.facts import Facts

SCRIPT = r"__name__\s*==\s*[\"']__main__"
DEVICES = (
    r"(?i)cuda|gpu|device|\bmps\b|\b[xnh]pu\b|xla|\.to\(|type_as|\.prepare\(|accelerat|catalyst|colossal|composer"
    r"|deepspeed|fabric|fastai|fsdp|horovod|ignite|lightning|\bpl\.|\bray\b|skorch|trainer"
)
"""What a file mentions that moves a model or its data, or a framework that does so unasked."""


def stays_on_cpu(facts: Facts) -> bool:
    """Whether a file is a program that trains a model by itself and nowhere names a device to do so on.

    What only defines models or steps of training is told nothing by that: who imports it moves them.
    """
    # Whether it is a program is asked first, since that hardly ever changes while a file is written.
    if not facts.mentions(SCRIPT):
        return False
    return facts.is_called("backward") and facts.is_called("parameters") and not facts.mentions(DEVICES)
