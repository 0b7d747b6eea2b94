"""
Writes what transformers keeps and computes when a model of test/lowering/hugging-face/configs.jsonl decodes a token, as
test/analysis/decoding/transformers.jsonl: elements of all keys and values after a prompt, and FLOPs of the next step
(PyTorch's FlopCounterMode).

Usage: python3 scripts/huggingFace/decoding.py   (needs torch and transformers; no weights are made: the meta device)

The prompt is longer than the windows of most models that have one. Masks are given, whose making needs values that meta
tensors lack. What cannot be run this way is named and left out.
"""

import inspect
import json
import sys
from pathlib import Path

import counts
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

batch, past = 2, 5000


def masks(model, queries, keys):
    """A mask for each kind of layer, or one for all."""
    config = model.config
    names = inspect.signature(model.forward).parameters
    if 'attention_mask' not in names:
        return {}
    window = getattr(config, 'sliding_window', None) or keys
    whole = torch.zeros(batch, 1, queries, keys, device='meta')
    short = torch.zeros(batch, 1, queries, min(keys, window) if queries == 1 else keys, device='meta')
    if config.model_type not in counts.masked_by_layer or not getattr(config, 'layer_types', None):
        return {'attention_mask': short}
    return {'attention_mask': {kind: whole if kind == 'full_attention' else short for kind in set(config.layer_types)}}


def held(cache):
    parts = [cache.self_attention_cache, cache.cross_attention_cache] if hasattr(cache, 'self_attention_cache') else [cache]
    return sum(layer.keys.numel() + layer.values.numel() for part in parts for layer in part.layers)


def decode(fields):
    model = counts.build(fields)
    config = model.config
    config.use_cache = True
    tokens = lambda length: torch.zeros(batch, length, dtype=torch.long, device='meta')
    positions = 'position_ids' in inspect.signature(model.forward).parameters
    with torch.no_grad(), torch.device('meta'):
        if config.is_encoder_decoder:
            encoded = transformers.modeling_outputs.BaseModelOutput(
                last_hidden_state=torch.empty(batch, getattr(config, 'max_source_positions', counts.seq), config.hidden_size, device='meta')
            )
            common = {'encoder_outputs': encoded, 'use_cache': True}
            first = model(**common, decoder_input_ids=tokens(past))
            cache = first.past_key_values
            elements = held(cache)
            with FlopCounterMode(display=False) as counter:
                model(**common, decoder_input_ids=tokens(1), past_key_values=cache)
            return elements, counter.get_total_flops()
        given = lambda queries, keys: {
            'input_ids': tokens(queries),
            **masks(model, queries, keys),
            **({'position_ids': tokens(queries)} if positions else {}),
        }
        cache = model(**given(past, past), use_cache=True).past_key_values
        elements = held(cache)
        with FlopCounterMode(display=False) as counter:
            model(**given(1, past + 1), past_key_values=cache, use_cache=True)
        return elements, counter.get_total_flops()


if __name__ == '__main__':
    tests = Path(__file__).parents[2] / 'test'
    rows = [json.loads(line) for line in (tests / 'lowering/hugging-face/configs.jsonl').read_text().splitlines()]
    written, seen = [], set()
    for row in rows:
        # One of each type: the others differ in sizes.
        kind = (row['config']['model_type'], row['config'].get('sliding_window'))
        if kind in seen:
            continue
        seen.add(kind)
        try:
            elements, flops = decode(row['config'])
        except Exception as error:
            print(f"{row['name']} ({row['config']['model_type']}): {type(error).__name__}: {str(error)[:110]}", file=sys.stderr)
            continue
        written.append({'name': row['name'], 'batch': batch, 'past': past, 'elements': elements, 'flops': flops})
    (tests / 'analysis/decoding/transformers.jsonl').write_text(''.join(f'{json.dumps(row)}\n' for row in written))
