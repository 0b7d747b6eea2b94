"""The table from ONNX operators to torch calls."""

from __future__ import annotations

from . import attention, elementwise, movement, neural, recurrent, reduction
from .call import Call, Rule, Unsupported, rules

__all__ = ["Call", "Rule", "Unsupported", "find_rule"]

# Importing a module fills the table; naming the modules here keeps that visible.
_modules = (attention, elementwise, movement, neural, recurrent, reduction)


def find_rule(domain: str, operator_type: str) -> Rule:
    """How torch computes this operator. Raises `Unsupported` for one the table does not have."""
    rule = rules.get((domain, operator_type))
    if rule is None:
        where = "" if domain == "" else f" of domain {domain}"
        raise Unsupported(f"the runner does not know the operator {operator_type}{where}")
    return rule
