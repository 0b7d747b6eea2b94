"""Writes small GGUF files of models of transformers: `python3 writeModels.py FOLDER`.

The package gguf of llama.cpp writes them, and names tensors after those of transformers as its converter does. FOLDER gets the files, whose
tensors are zeros, and `parameters.json`: how many parameters PyTorch counts. gguf 0.19, transformers 5.18, torch 2.13.
"""

import json
import sys
import types
from pathlib import Path

import gguf
import numpy as np

# torchvision's compiled operators are not needed, and do not load beside every PyTorch.
sys.modules['torchvision._meta_registrations'] = types.ModuleType('torchvision._meta_registrations')
import torch  # noqa: E402
import transformers  # noqa: E402

SIZES = {'hidden_size': 64, 'intermediate_size': 96, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'num_key_value_heads': 2,
         'vocab_size': 160, 'max_position_embeddings': 256, 'bos_token_id': 1, 'eos_token_id': 2, 'pad_token_id': 0}
EXPERTS = {'num_experts_per_tok': 2, 'moe_intermediate_size': 32}
# Architecture of llama.cpp, type of transformers, and fields besides SIZES.
MODELS = {
    'llama': ('llama', {'tie_word_embeddings': False}),
    'llama-tied': ('llama', {'tie_word_embeddings': True, 'head_dim': 24, 'attention_bias': True}),
    'mixtral': ('mixtral', {'num_local_experts': 4, 'num_experts_per_tok': 2, 'tie_word_embeddings': False}),
    'qwen2': ('qwen2', {'tie_word_embeddings': True}),
    'qwen3': ('qwen3', {'head_dim': 32, 'tie_word_embeddings': False}),
    'qwen3moe': ('qwen3_moe', {**EXPERTS, 'num_experts': 8, 'head_dim': 16}),
    'qwen2moe': ('qwen2_moe', {**EXPERTS, 'num_experts': 4, 'shared_expert_intermediate_size': 96}),
    'gemma2': ('gemma2', {'head_dim': 16}),
    'gemma3': ('gemma3_text', {'head_dim': 32}),
    'phi3': ('phi3', {'tie_word_embeddings': False}),
    'starcoder2': ('starcoder2', {'tie_word_embeddings': True}),
    'stablelm': ('stablelm', {'use_qkv_bias': True, 'tie_word_embeddings': False, 'partial_rotary_factor': 0.25}),
    'olmo2': ('olmo2', {'tie_word_embeddings': False}),
    'gptneox': ('gpt_neox', {'tie_word_embeddings': False}),
    'deepseek2': ('deepseek_v3', {**EXPERTS, 'n_routed_experts': 4, 'n_shared_experts': 1, 'first_k_dense_replace': 1, 'q_lora_rank': 24,
                                  'kv_lora_rank': 16, 'qk_rope_head_dim': 8, 'qk_nope_head_dim': 16, 'v_head_dim': 16, 'num_key_value_heads': 4,
                                  'n_group': 1, 'topk_group': 1, 'num_nextn_predict_layers': 0}),
    'gpt-oss': ('gpt_oss', {'head_dim': 16, 'num_local_experts': 4, 'num_experts_per_tok': 2, 'tie_word_embeddings': False}),
}
ARCHITECTURES = {name: arch for arch, name in gguf.MODEL_ARCH_NAMES.items()}


def write_metadata(writer, name, config):
    """As `set_gguf_parameters` of llama.cpp's converter does."""
    hidden, heads = config.hidden_size, config.num_attention_heads
    writer.add_name(f'{name} of a test')
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(hidden)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(heads)
    if name != 'gptneox':
        writer.add_head_count_kv(config.num_key_value_heads)
    for field, add in (('rms_norm_eps', writer.add_layer_norm_rms_eps), ('layer_norm_eps', writer.add_layer_norm_eps),
                       ('norm_epsilon', writer.add_layer_norm_eps)):
        if getattr(config, field, None) is not None:
            add(getattr(config, field))
    head = getattr(config, 'head_dim', None) or hidden // heads
    if name == 'deepseek2':
        writer.add_q_lora_rank(config.q_lora_rank)
        writer.add_kv_lora_rank(config.kv_lora_rank)
        writer.add_key_length(config.qk_nope_head_dim + config.qk_rope_head_dim)
        writer.add_value_length(config.v_head_dim)
        writer.add_rope_dimension_count(config.qk_rope_head_dim)
        writer.add_leading_dense_block_count(config.first_k_dense_replace)
        writer.add_expert_shared_count(config.n_shared_experts)
    else:
        if head != hidden // heads:
            writer.add_key_length(head)
            writer.add_value_length(head)
        share = (getattr(config, 'rope_parameters', None) or {}).get('partial_rotary_factor', 1)
        writer.add_rope_dimension_count(int(share * head))
    if name == 'gptneox':
        writer.add_parallel_residual(config.use_parallel_residual)
    experts = next((getattr(config, each) for each in ('num_local_experts', 'num_experts', 'n_routed_experts') if getattr(config, each, None)), None)
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
        if getattr(config, 'moe_intermediate_size', None):
            writer.add_expert_feed_forward_length(config.moe_intermediate_size)
        if getattr(config, 'shared_expert_intermediate_size', None):
            writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)
    writer.add_tokenizer_model('gpt2')
    writer.add_token_list([f'token {index}' for index in range(config.vocab_size)])
    writer.add_token_scores([0.0] * config.vocab_size)


def shapes_of(model):
    """What is stored: each parameter once, gates and ups of experts apart, as in the files of llama.cpp."""
    for name, tensor in model.named_parameters():
        shape = list(tensor.shape)
        if name.endswith('experts.gate_up_proj'):
            inner = [shape[0], shape[1] // 2, shape[2]] if shape[2] == model.config.hidden_size else [shape[0], shape[2] // 2, shape[1]]
            yield name.replace('gate_up_proj', 'gate_proj.weight'), inner
            yield name.replace('gate_up_proj', 'up_proj.weight'), inner
        elif name.endswith('experts.gate_up_proj_bias'):
            yield name.replace('gate_up_proj_bias', 'gate_proj.bias'), [shape[0], shape[1] // 2]
            yield name.replace('gate_up_proj_bias', 'up_proj.bias'), [shape[0], shape[1] // 2]
        elif name.endswith('experts.down_proj'):
            yield name + '.weight', shape
        elif name.endswith('experts.down_proj_bias'):
            yield name.replace('down_proj_bias', 'down_proj.bias'), shape
        else:
            yield name, shape


def main(folder):
    counts = {}
    for name, (model_type, fields) in MODELS.items():
        config = transformers.AutoConfig.for_model(model_type, **{**SIZES, **fields})
        with torch.device('meta'):
            model = transformers.AutoModelForCausalLM.from_config(config)
        counts[name] = sum(parameter.numel() for parameter in model.parameters())
        architecture = name.removesuffix('-tied') if name != 'mixtral' else 'llama'
        writer = gguf.GGUFWriter(folder / f'{name}.gguf', architecture)
        write_metadata(writer, architecture, config)
        names = gguf.get_tensor_name_map(ARCHITECTURES[architecture], config.num_hidden_layers)
        for tensor, shape in shapes_of(model):
            stem = tensor.removesuffix('.weight').removesuffix('.bias')
            mapped = names.get_name(stem)
            if mapped is None:
                print(f'{name}: {tensor} {shape} has no name in llama.cpp; it keeps its own', file=sys.stderr)
            stored = f'{mapped or stem}{tensor[len(stem):]}'
            matrix = len(shape) > 1 and shape[-1] % 32 == 0
            data = np.zeros(shape, np.float32)
            if matrix:
                writer.add_tensor(stored, gguf.quants.quantize(data, gguf.GGMLQuantizationType.Q8_0), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
            else:
                writer.add_tensor(stored, data)
        if name == 'llama':
            writer.add_tensor('rope_freqs.weight', np.zeros(8, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    (folder / 'parameters.json').write_text(json.dumps(counts, indent=2) + '\n')


if __name__ == '__main__':
    main(Path(sys.argv[1]))
