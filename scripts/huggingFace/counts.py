"""
Writes what transformers builds from the configs of test/lowering/hugging-face/configs.jsonl beside each: elements of
all parameters and of the trained ones, and FLOPs of forward (PyTorch's FlopCounterMode) at batch 2 and 128 tokens.

Usage: python3 scripts/huggingFace/counts.py [--new]   (needs torch and transformers; no weights are made: the meta device)

`--new`: only rows that have no counts yet.

Experts run by `batched_mm`, which computes those a token chooses. Causal models get their mask, whose making needs
values that meta tensors lack.
"""

import contextlib
import copy
import inspect
import json
import sys
import types
from pathlib import Path

# torchvision's compiled operators are not needed, and do not load beside every PyTorch.
sys.modules['torchvision._meta_registrations'] = types.ModuleType('torchvision._meta_registrations')
import torch  # noqa: E402
import transformers  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

batch, seq = 2, 128
# Samples of a wave: those of `speech.ts`.
samples = 160_000
# Types whose forward asks for values, which meta tensors lack: they run on the CPU, with random weights.
with_values = {'deberta', 'deberta-v2', 'layoutlm', 'layoutlmv3', 'vision-encoder-decoder', 'squeezebert', 'idefics3', 'smolvlm', 'detr', 'table-transformer'}
# Types whose forward takes one mask for each kind of layer.
masked_by_layer = {'gemma2', 'gemma3_text', 'gemma4_text', 'qwen2', 'qwen3', 'gpt_oss', 'cohere2', 'ministral', 'olmo3', 'smollm3',
                   'exaone4', 'qwen2_moe', 'qwen3_next', 'qwen3_5_text', 'qwen3_5_moe_text', 'olmo_hybrid',
                   'granitemoehybrid', 'cohere2_moe', 'modernbert-decoder', 'kimi_linear'}


# Types that read images beside text: images become tokens first, so that each part is counted by itself.
with_images = {'llava', 'llava_next', 'llava_onevision', 'vipllava', 'paligemma', 'gemma3', 'idefics3', 'smolvlm',
               'qwen2_vl', 'qwen2_5_vl', 'qwen3_vl', 'qwen3_vl_moe', 'qwen3_5', 'qwen3_5_moe',
               'internvl', 'mistral3', 'aya_vision', 'cohere2_vision'}
# Those of them that read an image as four parts and a small one beside.
tiled = {'llava_next', 'llava_onevision'}
# Those that read patches, of which an image has 32 × 32; they ask for values.
of_patches = {kind for kind in with_images if kind.startswith('qwen')}
# Those that read videos.
of_frames = {'videomae', 'vivit'}
# Parameters of the largest model that runs on the CPU.
largest = 100_000_000


def device_of(kind):
    return 'cpu' if kind in with_values else 'meta'


def build(fields, device=None):
    fields = copy.deepcopy(fields)
    config = transformers.AutoConfig.for_model(fields.pop('model_type'), **fields)
    config._attn_implementation = 'eager'
    config._experts_implementation = 'batched_mm'
    config.use_cache = False
    with torch.device(device or device_of(config.model_type)):
        return getattr(transformers, config.architectures[0])(config).eval()


def length(config):
    """Tokens of a sequence: `seq`, or as many as a short model has positions for."""
    return min(seq, getattr(config.get_text_config(), 'max_position_embeddings', None) or seq)


def sides(config):
    """Height and width of an image."""
    if config.model_type in {'detr', 'table-transformer'}:
        return 800, 800
    size = getattr(getattr(config, 'backbone_config', None) or config, 'image_size', 224)
    return size if isinstance(size, (list, tuple)) else (size, size)


def image_shape(config):
    frames = [config.num_frames] if config.model_type in of_frames else []
    return *frames, getattr(config, 'num_channels', 3), *sides(config)


def read_image(config, device='cpu'):
    reader = config.encoder
    return torch.randn(batch, reader.num_channels, reader.image_size, reader.image_size, device=device)


def page_image(config, device='cpu'):
    if not config.visual_embed:
        return {}
    size = config.input_size
    return {'pixel_values': torch.randn(batch, config.num_channels, size, size, device=device)}


def example(model):
    config, kind = model.config, model.config.model_type
    tokens = length(config)
    ids = torch.zeros(batch, tokens, dtype=torch.long, device=device_of(kind))
    mask = torch.zeros(batch, 1, tokens, tokens, device='meta')
    if kind == 'vision-encoder-decoder':
        return {'pixel_values': read_image(config, device_of(kind)), 'decoder_input_ids': ids}
    if kind == 'layoutlmv3':
        return {'input_ids': ids, **page_image(config, device_of(kind))}
    if kind in {'clip', 'metaclip_2', 'siglip'}:
        size = config.vision_config.image_size
        image = torch.empty(batch, config.vision_config.num_channels, size, size, device='meta')
        return {'input_ids': ids, 'attention_mask': mask, 'pixel_values': image}
    if model.main_input_name == 'pixel_values':
        return {'pixel_values': torch.zeros(batch, *image_shape(config), device=device_of(kind))}
    if kind == 'audio-spectrogram-transformer':
        return {'input_values': torch.zeros(batch, config.max_length, config.num_mel_bins, device='meta')}
    if model.main_input_name == 'input_values':
        return {'input_values': torch.zeros(batch, samples, device='meta')}
    if kind == 'whisper':
        frames = torch.empty(batch, config.num_mel_bins, 2 * config.max_source_positions, device='meta')
        return {'input_features': frames, 'decoder_input_ids': ids, 'decoder_attention_mask': mask}
    if config.is_encoder_decoder:
        return {'input_ids': ids, 'decoder_input_ids': ids}
    names = inspect.signature(model.forward).parameters
    inputs = {'input_ids': ids}
    if 'position_ids' in names:
        inputs['position_ids'] = ids
    masks = {'linear_attention': None}
    # DeBERTa and LayoutLM make their own of a mask by tokens, and ESM multiplies embeddings by it.
    if 'attention_mask' in names and kind not in {'deberta', 'deberta-v2', 'squeezebert', 'esm', 'layoutlm', 'mamba', 'falcon_mamba', 'mamba2'}:
        layers = set(getattr(config, 'layer_types', None) or [])
        inputs['attention_mask'] = {layer: masks.get(layer, mask) for layer in layers} if kind in masked_by_layer and layers else mask
    return inputs


def images(config, make=torch.zeros):
    """What `get_image_features` takes, for one image of each sequence."""
    vision, kind = config.vision_config, config.model_type
    if kind in of_patches:
        size = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
        grid = torch.tensor([[1, 32, 32]] * batch, device='cpu')
        return {'pixel_values': make(batch * 1024, size), 'image_grid_thw': grid}
    if vision.model_type == 'pixtral':
        size = 32 * vision.patch_size
        return {'pixel_values': make(batch, vision.num_channels, size, size), 'image_sizes': torch.tensor([[size, size]] * batch, device='cpu')}
    size = vision.image_size[0] if isinstance(vision.image_size, (list, tuple)) else vision.image_size
    shape = (vision.num_channels, size, size)
    if kind in tiled:
        size = 2 * vision.image_size
        return {'pixel_values': make(batch, 5, *shape), 'image_sizes': torch.tensor([[size, size]] * batch, device='cpu')}
    if kind in {'idefics3', 'smolvlm'}:
        return {'pixel_values': make(batch, 1, *shape) + 1}
    return {'pixel_values': make(batch, *shape)}


def image_tokens(features, config):
    """Tokens of one image."""
    given = features.pooler_output
    elements = given.numel() if torch.is_tensor(given) else sum(each.numel() for each in given)
    return elements // config.get_text_config().hidden_size // batch


def count_images(model, device):
    """FLOPs of both parts, and tokens of a sequence: `seq`, or as many as an image needs and sixteen."""
    config = model.config
    given = images(config)
    # Pixtral computes attention between all images of a batch, where FlashAttention does not run: one at a time.
    parts = [{name: each[index : index + 1] for name, each in given.items()} for index in range(batch)] if config.vision_config.model_type == 'pixtral' else [given]
    with torch.no_grad(), torch.device(device), FlopCounterMode(display=False) as tower:
        features = [model.model.get_image_features(**part) for part in parts]
    tokens = max(seq, sum(image_tokens(each, config) for each in features) + 16)
    ids = torch.zeros(batch, tokens, dtype=torch.long, device=device)
    with torch.no_grad(), torch.device(device), FlopCounterMode(display=False) as text:
        language = getattr(model.model, 'language_model', None) or model.model.text_model
        output = language(inputs_embeds=model.get_input_embeddings()(ids), attention_mask=text_mask(config, tokens, device))
        model.lm_head(output.last_hidden_state)
    return tower.get_total_flops() + text.get_total_flops(), tokens


def asks_values(fields):
    return fields['model_type'] in of_patches or fields['vision_config'].get('model_type') == 'pixtral'


def on_device(model, fields):
    if not asks_values(fields):
        return model, device_of(fields['model_type'])
    return build(fields, 'cpu'), 'cpu'


def text_mask(config, tokens, device):
    mask = torch.zeros(batch, 1, tokens, tokens, device=device)
    text = config.get_text_config()
    layers = set(getattr(text, 'layer_types', None) or [])
    return {layer: None if layer == 'linear_attention' else mask for layer in layers} if text.model_type in masked_by_layer and layers else mask


def count(fields):
    model = build(fields)
    counts = {
        'parameters': sum(p.numel() for p in model.parameters()),
        'trained': sum(p.numel() for p in model.parameters() if p.requires_grad),
    }
    try:
        if fields['model_type'] in with_images and asks_values(fields) and counts['parameters'] > largest:
            merge = getattr(model.config, 'spatial_merge_size', None) or getattr(model.config.vision_config, 'spatial_merge_size', 1)
            return {**counts, 'seq': 1024 // merge**2 + 16}
        if fields['model_type'] in with_images:
            counts['flops'], tokens = count_images(*on_device(model, fields))
            return {**counts, **({'seq': tokens} if tokens != seq else {})}
        # The counter asks for history where a module changes what it gives in place.
        history = contextlib.nullcontext() if fields['model_type'] == 'deberta' else torch.no_grad()
        with history, FlopCounterMode(display=False) as counter, torch.device(device_of(fields['model_type'])):
            model(**example(model))
        counts['flops'] = counter.get_total_flops()
        if length(model.config) != seq:
            counts['seq'] = length(model.config)
    except (RuntimeError, TypeError, ValueError) as error:
        print(f'{fields["model_type"]}: FLOPs were not counted: {str(error)[:100]}', file=sys.stderr)
    return counts


if __name__ == '__main__':
    path = Path(__file__).parents[2] / 'test/lowering/hugging-face/configs.jsonl'
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    counted = [row if '--new' in sys.argv and 'trained' in row else {'name': row['name'], **count(row['config']), 'config': row['config']} for row in rows]
    path.write_text(''.join(f'{json.dumps(row)}\n' for row in counted))
