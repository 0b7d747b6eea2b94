"""
Writes models with and without low-rank adapters, and what autograd keeps of each with adapters: base.*, adapted.* and kept.json.

Usage: python3 writeAdapters.py FOLDER   (needs torch 2.13, transformers 5.18)

Adapters are those of torchtune 0.6 (torchtune/modules/peft/lora.py, `LoRALinear.forward`).
"""

import json
import sys
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM

folder = Path(sys.argv[1])
rank = 4


class Adapted(torch.nn.Module):
    def __init__(self, linear, dropout):
        super().__init__()
        self.linear = linear
        self.dropout = torch.nn.Dropout(dropout) if dropout > 0 else torch.nn.Identity()
        self.lora_A = torch.nn.Linear(linear.in_features, rank, bias=False)
        self.lora_B = torch.nn.Linear(rank, linear.out_features, bias=False)

    def forward(self, x):
        return self.linear(x) + 2.0 * self.lora_B(self.lora_A(self.dropout(x)))


def adapt(model, names, dropout):
    model.requires_grad_(False)
    for path, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Linear) and (path.split('.')[-1] in names if names else path not in ('lm_head', 'classifier')):
            parent = model.get_submodule(path.rpartition('.')[0])
            setattr(parent, path.split('.')[-1], Adapted(module, dropout))
    return model


def llama():
    config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1, attn_implementation='eager', num_attention_heads=4, num_key_value_heads=2, use_cache=False)
    return LlamaForCausalLM(config), {'input_ids': torch.zeros(2, 8, dtype=torch.int64), 'labels': torch.zeros(2, 8, dtype=torch.int64)}


def bert():
    config = BertConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1, attn_implementation='eager', num_attention_heads=4, num_labels=3, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    return BertForSequenceClassification(config), {'input_ids': torch.zeros(2, 8, dtype=torch.int64), 'labels': torch.zeros(2, dtype=torch.int64)}


def save(model, inputs, name):
    program = torch.export.export(model, (), inputs, strict=False)
    # Lines of transformers are two thirds of the file, and hold paths of the machine.
    for part in program.graph_module.modules():
        for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else []:
            node.meta.pop('stack_trace', None)
    torch.export.save(program, folder / f'{name}.pt2')


cases = {
    'llama': (llama, [], 0.0),
    'llama-queries-values': (llama, ['q_proj', 'v_proj'], 0.1),
    'bert': (bert, [], 0.0),
}
kept = {}
for name, (build, names, dropout) in cases.items():
    torch.manual_seed(0)
    model, inputs = build()
    save(model.train(), inputs, name.split('-')[0])
    adapt(model, names, dropout).train()
    save(model, inputs, f'{name}-adapted')
    own = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    storages = {}

    def pack(tensor):
        storages[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with FlopCounterMode(display=False) as forward, torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = model(**inputs).loss
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    kept[name] = {
        'layers': names,
        'dropout': dropout,
        'trained': sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        'frozen': sum(parameter.numel() for parameter in model.parameters() if not parameter.requires_grad),
        'forward': forward.get_total_flops(),
        'backward': backward.get_total_flops(),
        'saved': sum(tensor.untyped_storage().nbytes() for key, tensor in storages.items() if key not in own),
    }
(folder / 'kept.json').write_text(json.dumps(kept, indent=2) + '\n')
