"""
Writes server/src/lowering/hugging-face/configDefaults.json: for each type of model that Layercost knows, the defaults
of its fields and what it calls them, as the configuration classes of transformers have them. `types` has each type with its
names of fields; `defaults` has for each field every value it has, followed by the types that have it, counted in their order.

Fields that no line of that folder names are left out.

Usage: python3 scripts/huggingFace/defaults.py [NEW TYPE...]   (needs transformers; types that are there stay)
"""

import dataclasses
import json
import re
import sys
import types
from pathlib import Path

# torchvision's compiled operators are not needed, and do not load beside every PyTorch.
sys.modules['torchvision._meta_registrations'] = types.ModuleType('torchvision._meta_registrations')
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402

# Fields of training, generation and bookkeeping, which change no size.
ignored = {
    'transformers_version', 'architectures', 'output_hidden_states', 'return_dict', 'dtype', 'chunk_size_feed_forward',
    'is_encoder_decoder', 'label2id', 'problem_type', 'initializer_range', 'use_cache', 'pad_token_id', 'bos_token_id',
    'eos_token_id', 'sep_token_id', 'cls_token_id', 'decoder_start_token_id', 'forced_eos_token_id', 'pretraining_tp',
    'router_aux_loss_coef', 'output_router_logits', 'router_z_loss_coef', 'begin_suppress_tokens', 'suppress_tokens',
    'initializer_factor', 'norm_topk_prob', 'routed_scaling_factor', 'rope_theta',
}


folder = Path(__file__).parents[2] / 'server/src/lowering/hugging-face'


def named_fields():
    """Words that stand in quotes in the code, and those that it puts together (`${part}_ffn_dim`)."""
    code = ''.join(path.read_text() for path in folder.glob('*.ts'))
    ends = re.findall(r"`\$\{part\}_(\w+)`", code)
    return set(re.findall(r"'(\w+)'", code)) | {f'{part}_{end}' for part in ('encoder', 'decoder') for end in ends}


def known(model_type, named):
    config = CONFIG_MAPPING[model_type]
    names = getattr(config, 'attribute_map', {}) or {}
    defaults = {}
    for field in dataclasses.fields(config):
        if field.name in ignored or field.default is dataclasses.MISSING or field.default is None:
            continue
        if not named & {field.name, *(name for name, own in names.items() if own == field.name)}:
            continue
        value = field.default
        if isinstance(value, tuple):
            value = list(value)
        if isinstance(value, (bool, int, float, str, list)):
            defaults[field.name] = value
    # Set in code, not as the default of a field.
    built = None if config.has_no_defaults_at_init else config()
    share = (getattr(built, 'rope_parameters', None) or {}).get('partial_rotary_factor', 1)
    if share != 1:
        defaults['partial_rotary_factor'] = share
    return {'names': {name: own for name, own in names.items() if name in named}, 'defaults': defaults}


def table(types):
    """By field, as most types have the same few values."""
    fields = {}
    for index, of_type in enumerate(types.values()):
        for field, value in of_type['defaults'].items():
            fields.setdefault(field, {}).setdefault(json.dumps(value), []).append(index)
    defaults = {
        field: [part for value, of_types in values.items() for part in (json.loads(value), of_types)]
        for field, values in sorted(fields.items())
    }
    return {'types': {name: of_type['names'] for name, of_type in types.items()}, 'defaults': defaults}


if __name__ == '__main__':
    path = folder / 'configDefaults.json'
    named = named_fields()
    names = sorted({*json.loads(path.read_text())['types'], *sys.argv[1:]})
    path.write_text(json.dumps(table({name: known(name, named) for name in names}), indent=2) + '\n')
