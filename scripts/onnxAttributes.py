"""Writes server/src/operators/attributes.json: the attributes that every version of every ONNX operator takes.

Usage: python scripts/onnxAttributes.py [--check], with the `onnx` package installed. Names, types and defaults are those
of `onnx.defs.get_all_schemas_with_history()`; the version of the package is written with them. `--check` compares instead
of writing.

An operator is a table of attributes by name. What holds for all its versions is one text: `int = 1`, `string = "NOTSET"`,
`ints`, `int, required`. What does not is a table by the version that it holds from: `{"1": "ints", "6": ""}` was taken
away in version 6.
"""

import json
import sys
from pathlib import Path

import onnx
from onnx import defs, helper

target = Path(__file__).parent.parent / "server/src/operators/attributes.json"


def text_of(attribute) -> str:
    kind = attribute.type.name.lower()
    if attribute.default_value.name:
        value = helper.get_attribute_value(attribute.default_value)
        if isinstance(value, bytes):
            return f'{kind} = "{value.decode()}"'
        if isinstance(value, float):
            # The fewest digits that read back as the same 32-bit number.
            return f"{kind} = {value:.7g}"
        if isinstance(value, (int, list)):
            return f"{kind} = {value}"
    return f"{kind}, required" if attribute.required else kind


def table_of(schemas) -> dict:
    """Attributes by name, of the versions of one operator."""
    schemas = sorted(schemas, key=lambda schema: schema.since_version)
    texts = [{name: text_of(value) for name, value in schema.attributes.items()} for schema in schemas]
    table = {}
    for name in sorted({name for names in texts for name in names}):
        changes = {}
        last = ""
        for schema, names in zip(schemas, texts):
            text = names.get(name, "")
            if text != last:
                changes[str(schema.since_version)] = text
            last = text
        always = next(iter(changes.values()))
        is_always = len(changes) == 1 and name in texts[0]
        table[name] = always if is_always else changes
    return table


def document() -> str:
    histories = {}
    for schema in defs.get_all_schemas_with_history():
        histories.setdefault(schema.domain, {}).setdefault(schema.name, []).append(schema)
    operators = {
        domain: {name: table_of(versions) for name, versions in sorted(of_domain.items())}
        for domain, of_domain in sorted(histories.items())
    }
    source = f"onnx.defs.get_all_schemas_with_history() of onnx {onnx.__version__}"
    return json.dumps({"source": source, "operators": operators}, indent=2) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        if target.read_text() != document():
            sys.exit(f"{target.name} is not what onnx {onnx.__version__} says; run python scripts/onnxAttributes.py")
    else:
        target.write_text(document())
