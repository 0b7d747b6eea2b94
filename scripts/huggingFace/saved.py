"""
Writes what autograd keeps for backward of models of test/lowering/hugging-face/configs.jsonl, in bytes, as
test/lowering/hugging-face/saved.jsonl.

Usage: python3 scripts/huggingFace/saved.py [--new] [--list NAME]   (needs torch and transformers; weights are random)

`--new`: only models that have no line yet.

Forward runs in training mode, in fp32, on the CPU, at batch 2 and 128 tokens, without a loss, with the attention and the
experts that transformers chooses itself. Counted are storages as `torch.autograd.graph.saved_tensors_hooks` sees them, each
once and whole; those of parameters and buffers are left out. Dropout and attention keep what they keep on a GPU
(`as_on_a_gpu` of samples/scripts/exports.py). Models beyond `largest` parameters are left out: their sizes are made smaller.
"""

import argparse
import collections
import contextlib
import copy
import inspect
import json
import sys
import warnings
from pathlib import Path

import counts
import torch
import transformers

root = Path(__file__).parents[2]
sys.path[:0] = [str(root / 'samples/scripts'), str(root / 'scripts/measured')]
from exports import as_on_a_gpu  # noqa: E402
from savedActivations import Kept  # noqa: E402

largest = 60_000_000
# Sizes in the place of a public model's, where a type has no other; what the file has beside them stays.
smaller = {
    'hidden_size': 128, 'd_model': 128, 'intermediate_size': 320, 'encoder_ffn_dim': 320, 'decoder_ffn_dim': 320,
    'd_ff': 320, 'moe_intermediate_size': 96, 'shared_expert_intermediate_size': 160, 'num_hidden_layers': 3,
    'encoder_layers': 2, 'decoder_layers': 2, 'num_layers': 2, 'num_decoder_layers': 2, 'num_attention_heads': 4,
    'encoder_attention_heads': 4, 'decoder_attention_heads': 4, 'num_heads': 4, 'num_key_value_heads': 2, 'head_dim': 32,
    'n_routed_experts': 8, 'num_experts': 8, 'num_local_experts': 8, 'vocab_size': 1003,
    'q_lora_rank': 48, 'kv_lora_rank': 32, 'qk_rope_head_dim': 16, 'qk_nope_head_dim': 32, 'v_head_dim': 32,
    'hidden_dim': 320, 'dim': 128, 'n_layers': 2, 'n_heads': 4, 'd_kv': 32, 'n_embd': 128, 'n_head': 4, 'n_layer': 2,
}


def build(fields, attention=None):
    fields = copy.deepcopy(fields)
    config = transformers.AutoConfig.for_model(fields.pop('model_type'), **fields)
    if attention is not None:
        config._attn_implementation = attention
    config.use_cache = config.get_text_config().use_cache = False
    return getattr(transformers, config.architectures[0])(config).train()


def example_with_images(model):
    """One image in each sequence, whose tokens come first."""
    config = model.config
    given = counts.images(config, torch.randn)
    with torch.no_grad():
        places = counts.image_tokens(model.model.get_image_features(**given), config)
    marker = config.image_token_id
    length = max(counts.seq, places + 16)
    ids = torch.randint(3, config.get_text_config().vocab_size - 4, (counts.batch, length))
    ids[:, :places] = marker
    name = 'mm_token_type_ids' if config.model_type in counts.of_patches else 'token_type_ids'
    asked = config.model_type in counts.of_patches | {'gemma3', 'paligemma'}
    kinds = {name: (ids == marker).long()} if asked else {}
    return {'input_ids': ids, **given, **kinds}


def example(model):
    config = model.config
    if config.model_type in counts.with_images:
        return example_with_images(model)
    ids = lambda: torch.randint(3, config.get_text_config().vocab_size, (counts.batch, counts.length(config)))
    if config.model_type == 'vision-encoder-decoder':
        return {'pixel_values': counts.read_image(config), 'decoder_input_ids': ids()}
    if config.model_type == 'layoutlmv3':
        return {'input_ids': ids(), **counts.page_image(config)}
    if config.model_type in {'clip', 'metaclip_2', 'siglip'}:
        vision = config.vision_config
        image = torch.randn(counts.batch, vision.num_channels, vision.image_size, vision.image_size)
        return {'input_ids': ids(), 'pixel_values': image}
    if model.main_input_name == 'pixel_values':
        return {'pixel_values': torch.randn(counts.batch, *counts.image_shape(config))}
    if config.model_type == 'audio-spectrogram-transformer':
        return {'input_values': torch.randn(counts.batch, config.max_length, config.num_mel_bins)}
    if model.main_input_name == 'input_values':
        return {'input_values': torch.randn(counts.batch, counts.samples)}
    if model.main_input_name == 'input_features':
        frames = torch.randn(counts.batch, config.num_mel_bins, 2 * config.max_source_positions)
        return {'input_features': frames, 'decoder_input_ids': ids()}
    if config.is_encoder_decoder:
        return {'input_ids': ids(), 'decoder_input_ids': ids()}
    return {'input_ids': ids()}


def in_steps(query, key, value, attn_mask, dropout_p=0.0, is_causal=False, scale=None):
    """No kernel of a GPU takes a mask whose last axis does not lie in order (sdp_utils_cpp.h, `check_last_dim_stride_equals_1_dense`)."""
    root = (query.shape[-1] ** -0.5 if scale is None else scale) ** 0.5
    weights = torch.softmax((query * root) @ (key.transpose(-2, -1) * root) + attn_mask, -1)
    return torch.nn.functional.dropout(weights, dropout_p) @ value


@contextlib.contextmanager
def masks_as_on_a_gpu():
    """The fused kernel of the CPU gives a mask no gradient, so that trained masks would have attention written out."""
    sdpa = torch.nn.functional.scaled_dot_product_attention

    def detached(query, key, value, attn_mask=None, *rest, **more):
        if attn_mask is not None and attn_mask.stride(-1) != 1:
            return in_steps(query, key, value, attn_mask, **more)
        return sdpa(query, key, value, None if attn_mask is None else attn_mask.detach(), *rest, **more)

    torch.nn.functional.scaled_dot_product_attention = detached
    try:
        yield
    finally:
        torch.nn.functional.scaled_dot_product_attention = sdpa


class DeltaRule(torch.autograd.Function):
    """Keeps what the kernel of flash-linear-attention keeps (`ChunkGatedDeltaRuleFunction`, `ChunkKDAFunction`)."""

    @staticmethod
    def forward(ctx, query, key, value, decay, beta):
        kept = [each.contiguous() for each in (query, key, value, decay, beta)]
        ctx.save_for_backward(*kept, query.new_empty(*query.shape[:3], 64 * (decay.dim() - 2)))
        return torch.empty_like(value, memory_format=torch.contiguous_format)

    @staticmethod
    def backward(ctx, grad):
        raise NotImplementedError


class SelectiveScan(torch.autograd.Function):
    """Keeps what the kernel of mamba-ssm keeps (`SelectiveScanFn`)."""

    @staticmethod
    def forward(ctx, u, delta, A, B, C, D, z, bias):
        states = u.new_empty(*u.shape[:2], -(-u.shape[2] // 2048), 2 * A.shape[1])
        kept = [each.contiguous() for each in (u, delta, A, B, C, D, z, bias)]
        ctx.save_for_backward(*kept, states, torch.empty_like(u, memory_format=torch.contiguous_format))
        return torch.empty_like(u, memory_format=torch.contiguous_format)

    @staticmethod
    def backward(ctx, grad):
        raise NotImplementedError


def selective_scan(module):
    return lambda u, dt, A, B, C, D, z, delta_bias, **more: SelectiveScan.apply(u, dt, A, B, C, D, z, delta_bias)


class ChunkScan(torch.autograd.Function):
    """Keeps what the kernel of mamba-ssm keeps (`MambaChunkScanCombinedFn`)."""

    @staticmethod
    def forward(ctx, x, dt, A, B, C, D, bias, chunk_size):
        out = torch.empty_like(x, memory_format=torch.contiguous_format)
        sums = x.new_empty(x.shape[0], x.shape[2], -(-x.shape[1] // chunk_size), chunk_size)
        ctx.save_for_backward(out, x, dt, sums, A, B, C, D, bias)
        return out

    @staticmethod
    def backward(ctx, grad):
        raise NotImplementedError


def chunk_scan(module):
    return lambda x, dt, A, B, C, chunk_size, D, dt_bias, **more: ChunkScan.apply(x, dt, A, B, C, D, dt_bias, chunk_size)


def delta_rule(module):
    return lambda query, key, value, g, beta, **more: (DeltaRule.apply(module.l2norm(query), module.l2norm(key), value, g, beta), None)


def no_mask(module):
    """Of Pixtral, whose images are kept apart by FlashAttention itself."""
    return lambda *given: None


# Functions of transformers that only kernels make fast, by what keeps as much as they do.
kernels = {
    'torch_chunk_gated_delta_rule': delta_rule,
    'chunk_kimi_delta_attention': delta_rule,
    'mamba_selective_scan': selective_scan,
    'mamba2_chunk_scan': chunk_scan,
    'generate_block_attention_mask': no_mask,
}


@contextlib.contextmanager
def scans_as_on_a_gpu():
    """Functions that carry a state from token to token, as the kernels that transformers calls where they are installed."""
    patched = []
    for module in [module for name, module in sys.modules.items() if name.startswith('transformers.models.')]:
        for name, kernel in kernels.items():
            if name in vars(module):
                patched.append((module, name, vars(module)[name]))
                setattr(module, name, kernel(module))
    try:
        yield
    finally:
        for module, name, function in patched:
            setattr(module, name, function)


def keep(fields):
    torch.manual_seed(0)
    model = build(fields)
    kept = Kept({held.untyped_storage()._cdata for held in [*model.parameters(), *model.buffers()]})
    with as_on_a_gpu(), masks_as_on_a_gpu(), scans_as_on_a_gpu(), torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda tensor: tensor):
        model(**example(model))
    return kept


def chosen(rows):
    """At most two models of each type, the smallest; where all are large, one with other sizes."""
    by_type = collections.defaultdict(list)
    for row in rows:
        by_type[row['config']['model_type']].append(row)
    for of_type in by_type.values():
        of_type.sort(key=lambda row: row['parameters'])
        small = [row for row in of_type if row['parameters'] <= largest][:2]
        for row in small or of_type[:1]:
            config = row['config']
            if not small:
                config = {**config, **{name: smaller[name] for name in smaller if name in config}}
            yield {**({'seq': row['seq']} if 'seq' in row else {}), 'name': row['name'] if small else f"{row['name']}, smaller", 'config': config}


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--list', help='print what is kept of one model, by type and shape, and write nothing')
    parser.add_argument('--new', action='store_true', help='keep the lines that are there')
    arguments = parser.parse_args()
    warnings.simplefilter('ignore')
    tests = root / 'test/lowering/hugging-face'
    rows = list(chosen([json.loads(line) for line in (tests / 'configs.jsonl').read_text().splitlines()]))
    if arguments.list is not None:
        [row] = [row for row in rows if row['name'] == arguments.list]
        shapes = collections.Counter((str(t.dtype), tuple(t.shape), t.untyped_storage().nbytes()) for t in keep(row['config']).storages.values())
        for (dtype, shape, size), count in sorted(shapes.items(), key=lambda entry: -entry[0][2] * entry[1]):
            print(f'{count * size:12} {count:4} × {size:10} {dtype} {shape}')
        sys.exit()
    there = [json.loads(line) for line in (tests / 'saved.jsonl').read_text().splitlines()] if arguments.new else []
    written = list(there)
    for row in rows:
        if any(line['name'] == row['name'] for line in there):
            continue
        try:
            saved = keep(row['config']).bytes
        except Exception as error:
            print(f"{row['name']}: {type(error).__name__}: {str(error)[:110]}", file=sys.stderr)
            continue
        written.append({'name': row['name'], 'saved': saved, 'config': row['config'], **({'seq': row['seq']} if 'seq' in row else {})})
    (tests / 'saved.jsonl').write_text(''.join(f'{json.dumps(row)}\n' for row in written))
