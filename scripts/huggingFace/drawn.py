"""
Draws configs of the types in test/lowering/hugging-face/configs.jsonl and writes what transformers makes of them, one JSON object a
line: parameters, FLOPs of forward, and bytes that autograd keeps, in fp32 and under bf16 autocast.

Usage: python3 scripts/huggingFace/drawn.py [--seed 1] [--count 100] [--changes 4] [--every] [--types NAME ...]   (needs torch, transformers, g++)

A draw takes a small model and changes fields of its configuration class, whichever they are. `--every`: of each type, each field
alone. What transformers itself refuses is left out.
"""

import fakeCuda  # noqa: I001  before torch
import argparse
import dataclasses
import json
import logging
import random
import sys
import typing
import warnings

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import counts
import saved
import stepKernels
from defaults import ignored

logging.disable(logging.ERROR)
# Bookkeeping beside that of `defaults`; ids of tokens; ranges of weights and of times.
left = ignored | {
    'model_type', 'id2label', 'use_mrope', 'sub_configs', 'dtype', 'output_attentions', 'return_dict', 'torchscript', 'cross_attention_hidden_size',
    'add_cross_attention', 'is_decoder', 'gradient_checkpointing', 'loss_type', 'auxiliary_loss', 'has_no_defaults_at_init', 'num_labels',
}
# Fields of nearly every type, which draws change often enough.
common = {'vocab_size', 'hidden_size', 'num_hidden_layers', 'intermediate_size', 'max_position_embeddings', 'layerdrop', 'num_channels'}
# Trained parameters of a model that is drawn from.
small = 10_000_000
# FLOPs of forward that the CPU computes within seconds.
most_flops = 60_000_000_000
activations = ['gelu', 'relu', 'silu', 'gelu_new', 'gelu_pytorch_tanh', 'quick_gelu', 'relu2']
choices = {
    'position_embedding_type': ['absolute', 'rope', 'nope', 'relative_key'],
    'vision_feature_select_strategy': ['default', 'full'],
}


def is_left(name):
    return name in left or name.startswith('_') or name.endswith(('_id', '_ids', '_idx', '_index', '_eps', '_epsilon', '_std', '_range', '_attn_implementation', '_init', '_init_method'))


def other(name, value, kind, config, chance):
    """Another value of a field, or `None` where none is known."""
    if isinstance(value, bool):
        return not value
    options = typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else choices.get(name)
    if isinstance(value, str):
        if value in activations or name.endswith(('_act', 'activation', 'activation_function')):
            return chance.choice([each for each in activations if each != value])
        return chance.choice([each for each in options if each != value]) if options else None
    if isinstance(value, float):
        if 'drop' in name:
            return 0.1 if value == 0 else 0.0
        return chance.choice([value * 0.5, value * 2]) if value else 0.5
    if isinstance(value, int):
        if 'drop' in name:
            return 0.1
        if 'vocab' in name:
            return value + chance.choice([1, 24])
        return chance.choice([value + 1, 2 * value, max(1, value // 2)])
    if isinstance(value, (list, tuple)) and value:
        values = list(value)
        at = chance.randrange(len(values))
        if all(isinstance(each, str) for each in values):
            values[at] = chance.choice(sorted(set(values)))
            return values if values != list(value) else None
        if all(isinstance(each, bool) for each in values):
            values[at] = not values[at]
            return values
        if all(isinstance(each, int) for each in values):
            values[at] = chance.choice([values[at] + 1, 2 * values[at], max(1, values[at] // 2)])
            return values
        return None
    if value is None:
        words = str(kind)
        if 'bool' in words:
            return True
        if 'float' in words and 'drop' in name:
            return 0.1
        if 'list' in words and 'int' in words and 'layer' in name:
            return [1]
        if 'int' in words:
            hidden = getattr(config, 'hidden_size', 64)
            return chance.choice([2, 32, hidden // 2 if isinstance(hidden, int) else 64])
        return 0.5 if 'float' in words else None
    return None


def fields_of(config):
    """Fields of a config that may be changed, each with its place."""
    for field in dataclasses.fields(config):
        if is_left(field.name):
            continue
        value = getattr(config, field.name, None)
        if dataclasses.is_dataclass(value) or hasattr(value, 'to_diff_dict'):
            for place, *inner in fields_of(value):
                yield (field.name, *place), *inner
        elif field.name == 'rope_parameters':
            if value is not None:
                yield (field.name, 'partial_rotary_factor'), (value or {}).get('partial_rotary_factor', 1.0), float, config
        else:
            yield (field.name,), value, field.type, config


def changed(fields, place, value, config):
    """The fields with another value at a place; parts that were not there come from the class."""
    head, *rest = place
    if not rest:
        return {**fields, head: value}
    inner = fields.get(head)
    if not isinstance(inner, dict):
        own = getattr(config, head)
        inner = dict(own) if isinstance(own, dict) else {'model_type': own.model_type}
    return {**fields, head: changed(inner, rest, value, getattr(config, head))}


def config_of(fields):
    fields = dict(fields)
    return CONFIG_MAPPING[fields.pop('model_type')](**fields)


def smaller(fields):
    """With smaller sizes, where the model is large and can be built with them."""
    try:
        with torch.device('meta'):
            if sum(each.numel() for each in saved.build(fields).parameters()) < small:
                return fields
            names = {field.name for field in dataclasses.fields(config_of(fields))}
            tried = {**fields, **{name: size for name, size in saved.smaller.items() if name in names}}
            saved.build(tried)
            return tried
    except Exception:
        return fields


def draw(fields, count, chance):
    """So many changes, each of which transformers takes."""
    made = []
    for _ in range(40):
        if len(made) == count:
            break
        config = config_of(fields)
        place, value, kind, holder = chance.choice(list(fields_of(config)))
        if any(place == before for before, _ in made):
            continue
        new = other(place[-1], value, kind, holder, chance)
        if new is None:
            continue
        tried = changed(fields, place, new, config)
        try:
            saved.build(tried)
        except Exception:
            continue
        fields = tried
        made.append((place, new))
    return fields, made


def measure_fp32(fields):
    row = counts.count(fields)
    if row['trained'] > saved.largest or row.get('flops', 0) > most_flops:
        raise ValueError('too large')
    try:
        row['saved'] = saved.keep(fields).bytes
    except Exception as error:
        row['unsaved'] = f'{type(error).__name__}: {str(error)[:120]}'
    return row


def measure(fields):
    row = measure_fp32(fields)
    try:
        row['saved_bf16'] = stepKernels.step(lambda: saved.build(fields), saved.example, 'bf16', False)['saved']
    except Exception as error:
        row['unsaved_bf16'] = f'{type(error).__name__}: {str(error)[:120]}'
    return row


def tell(name, fields, made, measure=measure):
    try:
        row = measure(fields)
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {str(error)[:120]}", file=sys.stderr)
        return
    # What transformers builds and cannot run is no config.
    if 'saved' not in row and 'flops' not in row:
        return
    print(json.dumps({'name': name, **row, 'changes': [['.'.join(place), value] for place, value in made], 'config': fields}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=100)
    parser.add_argument('--changes', type=int, default=4)
    parser.add_argument('--every', action='store_true')
    parser.add_argument('--base', action='store_true')
    parser.add_argument('--types', nargs='+')
    arguments = parser.parse_args()
    warnings.simplefilter('ignore')
    transformers.logging.set_verbosity_error()
    path = saved.root / 'test/lowering/hugging-face/configs.jsonl'
    rows = {}
    for row in saved.chosen([json.loads(line) for line in path.read_text().splitlines()]):
        if not arguments.types or row['config']['model_type'] in arguments.types:
            rows.setdefault(row['config']['model_type'], []).append(smaller(row['config']))
    if arguments.base:
        for kind, [fields, *_] in rows.items():
            tell(kind, fields, [])
        return
    if arguments.every:
        for kind, [fields, *_] in rows.items():
            chance = random.Random(f'{arguments.seed} {kind}')
            try:
                config = config_of(fields)
            except Exception:
                continue
            for place, value, annotation, holder in fields_of(config):
                new = other(place[-1], value, annotation, holder, chance)
                if new is not None and place[-1] not in common:
                    tell(f"{kind} {'.'.join(place)}", changed(fields, place, new, config), [(place, new)], measure_fp32)
        return
    chance = random.Random(arguments.seed)
    for index in range(arguments.count):
        kind = chance.choice(sorted(rows))
        try:
            fields, made = draw(chance.choice(rows[kind]), arguments.changes, chance)
        except Exception as error:
            print(f'{kind}: {type(error).__name__}: {str(error)[:120]}', file=sys.stderr)
            continue
        tell(f'{index} {kind}', fields, made)


if __name__ == '__main__':
    main()
