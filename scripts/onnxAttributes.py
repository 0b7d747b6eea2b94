"""Writes server/src/operators/attributes.json: the attributes of every ONNX operator, with types and defaults.

Usage: python scripts/onnxAttributes.py, with the `onnx` package installed. Names and defaults are those of
`onnx.defs.get_all_schemas()`; the version of the package is written with them.
"""

import json
from pathlib import Path

import onnx
from onnx import defs, helper


def text_of(attribute) -> str:
    kind = attribute.type.name.lower()
    if attribute.default_value.name:
        value = helper.get_attribute_value(attribute.default_value)
        if isinstance(value, bytes):
            return f'{kind} = "{value.decode()}"'
        if isinstance(value, float):
            return f"{kind} = {value:.9g}"
        if isinstance(value, (int, list)):
            return f"{kind} = {value}"
    return f"{kind}, required" if attribute.required else kind


table = {}
for schema in defs.get_all_schemas():
    attributes = {name: text_of(attribute) for name, attribute in sorted(schema.attributes.items())}
    table.setdefault(schema.domain, {})[schema.name] = attributes

target = Path(__file__).parent.parent / "server/src/operators/attributes.json"
document = {"source": f"onnx.defs.get_all_schemas() of onnx {onnx.__version__}", "operators": table}
target.write_text(json.dumps(document, sort_keys=True, indent=1) + "\n")
