"""The parts of SARIF 2.1.0 that Warplint writes, as section 3 of the standard has them.

Each object lists its properties with their types; those the standard requires are in REQUIRED. A type in
brackets is a list of it, a set is one of its strings, a name is another object of the table.
"""

from __future__ import annotations

LEVEL = frozenset({"none", "note", "warning", "error"})

OBJECTS: dict[str, dict[str, object]] = {
    "sarifLog": {"$schema": str, "version": frozenset({"2.1.0"}), "runs": ["run"]},
    "run": {
        "tool": "tool",
        "results": ["result"],
        "invocations": ["invocation"],
        "columnKind": frozenset({"utf16CodeUnits", "unicodeCodePoints"}),
    },
    "tool": {"driver": "toolComponent"},
    "toolComponent": {"name": str, "version": str, "rules": ["reportingDescriptor"]},
    "reportingDescriptor": {
        "id": str,
        "name": str,
        "shortDescription": "message",
        "help": "message",
        "defaultConfiguration": "reportingConfiguration",
    },
    "reportingConfiguration": {"level": LEVEL},
    "invocation": {"executionSuccessful": bool, "toolExecutionNotifications": ["notification"]},
    "notification": {"level": LEVEL, "message": "message", "locations": ["location"]},
    "result": {
        "ruleId": str,
        "ruleIndex": int,
        "level": LEVEL,
        "message": "message",
        "locations": ["location"],
        "relatedLocations": ["location"],
        "partialFingerprints": dict,
        "properties": dict,
    },
    "message": {"text": str, "markdown": str},
    "location": {
        "physicalLocation": "physicalLocation",
        "logicalLocations": ["logicalLocation"],
        "message": "message",
    },
    "logicalLocation": {"name": str},
    "physicalLocation": {"artifactLocation": "artifactLocation", "region": "region"},
    "artifactLocation": {"uri": str, "uriBaseId": str},
    "region": {"startLine": int, "startColumn": int, "endLine": int, "endColumn": int},
}
REQUIRED = {
    "sarifLog": {"version", "runs"},
    "run": {"tool"},
    "tool": {"driver"},
    "toolComponent": {"name"},
    "reportingDescriptor": {"id"},
    "invocation": {"executionSuccessful"},
    "notification": {"message"},
    "result": {"message"},
    "message": {"text"},
}


def faults(value: object, expected: object = "sarifLog", place: str = "log") -> list[str]:
    """What is not as the standard has it, each with its place."""
    if isinstance(expected, str):
        if not isinstance(value, dict):
            return [f"{place} is no object"]
        known = OBJECTS[expected]
        found = [f"{place} lacks {name}" for name in REQUIRED.get(expected, set()) - value.keys()]
        found += [f"{place} has {name}, which is unknown here" for name in value.keys() - known.keys()]
        for name in value.keys() & known.keys():
            found += faults(value[name], known[name], f"{place}.{name}")
        return found
    if isinstance(expected, list):
        if not isinstance(value, list):
            return [f"{place} is no list"]
        return [
            fault
            for number, item in enumerate(value)
            for fault in faults(item, expected[0], f"{place}[{number}]")
        ]
    if isinstance(expected, frozenset):
        return [] if value in expected else [f"{place} is {value!r}"]
    assert isinstance(expected, type)
    if not isinstance(value, expected) or (expected is int and (isinstance(value, bool) or value < 1)):
        # Indices count from 0, lines and columns from 1.
        return [] if place.endswith(".ruleIndex") and value == 0 else [f"{place} is {value!r}"]
    return []
