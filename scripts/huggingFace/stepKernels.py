"""
Writes what a training step of models of transformers launches, keeps and holds on a GPU, by PyTorch's own autocast and
autograd on tensors without contents (fakeCuda.py): one JSON object a line.

Usage: python3 scripts/huggingFace/stepKernels.py [--precision bf16] [--steps | --types NAME ...] [--list NAME]   (needs torch, transformers, g++)

`--steps`: the models of measured/models/eager, with their loss and batch; else the models of saved.py with as few layers as they
have kinds, without a loss. `--list`: each call of one model by what it reads and writes.
"""

import fakeCuda  # noqa: I001  before torch
import argparse
import collections
import contextlib
import json
import sys
import warnings
from pathlib import Path

import torch
import transformers
import transformers.masking_utils
from torch.utils._pytree import tree_leaves

import counts  # noqa: E402
import saved  # noqa: E402

root = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / 'scripts' / 'measured'))
from liveStorages import LiveStorages  # noqa: E402

# Whether several sequences share a row is read from positions, which have no contents here: they do not.
transformers.masking_utils.find_packed_sequence_indices = lambda *given, **more: None
# As is whether a mask hides nothing: none does.
transformers.masking_utils.is_tracing = lambda tensor=None: False
transformers.masking_utils.fast_all = lambda mask: True
halves = {'bf16': torch.bfloat16, 'fp16': torch.float16, 'fp32': None}
products = {'mm', 'addmm', 'bmm', 'baddbmm', '_grouped_mm', 'convolution', 'convolution_backward', 'matmul'}
attentions = {'_scaled_dot_product_flash_attention', '_scaled_dot_product_efficient_attention'}
attentions |= {f'{name}_backward' for name in attentions}
reductions = {
    'sum', 'mean', 'amax', 'amin', 'max', 'min', '_softmax', '_softmax_backward_data', '_log_softmax', '_log_softmax_backward_data',
    'native_layer_norm', 'native_layer_norm_backward', 'native_batch_norm', 'native_batch_norm_backward', 'native_group_norm',
    'native_group_norm_backward', 'var_mean', 'var', 'logsumexp', 'nll_loss_forward', 'nll_loss_backward', 'cumsum', 'any', 'all', 'topk', 'sort',
    'linalg_vector_norm', '_fused_rms_norm', '_fused_rms_norm_backward',
}
nothing = {'empty', 'empty_like', 'empty_strided', 'new_empty', 'new_empty_strided', 'lift_fresh', '_unsafe_view', 'detach', 'set_', 'resize_', '_local_scalar_dense', 'item', 'device', 'alias', '_reshape_alias'}


def kind_of(name):
    if name in products or name in attentions:
        return 'matmul'
    if name in reductions:
        return 'reduction'
    return 'elementwise'


def is_view(function):
    returns = function._schema.returns
    return bool(returns) and all(each.alias_info is not None and not each.alias_info.is_write for each in returns)


class Launches(LiveStorages):
    """Calls that launch kernels, and the storages that there are, from the call that makes them until nobody holds them."""

    def __init__(self, own):
        super().__init__()
        self.own = own
        # Held, so that no other storage gets the place of one that was dropped.
        self.casts = []
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function._schema.name.split('::')[1]
        # What autocast casts weights to is theirs, not an activation.
        if name == '_to_copy' and args[0].untyped_storage()._cdata in self.own:
            self.own.add(result.untyped_storage()._cdata)
            self.casts.append(result)
        written = [each for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
        for each in written:
            if each.device.type == 'cuda':
                self.add(each)
        on_gpu = [each for each in [*tree_leaves((args, kwargs)), *written] if isinstance(each, torch.Tensor) and each.device.type == 'cuda']
        if name not in nothing and not is_view(function) and on_gpu and function.namespace != 'prim':
            self.calls.append((name, sum(held_bytes(each) for each in on_gpu), [(str(each.dtype)[6:], tuple(each.shape)) for each in on_gpu]))
        return result


def held_bytes(tensor):
    """Of what is repeated by a stride of 0, once."""
    elements = 1
    for size, stride in zip(tensor.shape, tensor.stride()):
        elements *= size if stride != 0 else 1
    return elements * tensor.element_size()


def of_class(calls):
    """Calls and bytes of each class."""
    found = collections.defaultdict(lambda: [0, 0])
    for name, size, _ in calls:
        entry = found[kind_of(name)]
        entry[0] += 1
        entry[1] += size
    return dict(found)


def step(make, inputs, precision, with_loss):
    """Of the second step."""
    torch.manual_seed(0)
    with fakeCuda.FakeTensorMode(allow_non_fake_inputs=True), torch.device('cuda'):
        model = make()
        own = {held.untyped_storage()._cdata for held in [*model.parameters(), *model.buffers()]}
        launches = Launches(own)
        given = inputs(model)
        for tensor in [*model.parameters(), *model.buffers(), *given.values()]:
            launches.add(tensor)
        kept = saved.Kept(own)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True) if with_loss else None
        with saved.scans_as_on_a_gpu(), launches:
            for _ in range(2 if with_loss else 1):
                launches.calls, launches.peak = [], launches.live
                with torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda tensor: tensor) if not with_loss else fakeCuda.contextlib.nullcontext():
                    with fakeCuda.autocast(halves[precision]):
                        output = model(**given)
                forward = launches.calls
                launches.calls = []
                if with_loss:
                    output.loss.backward()
                else:
                    outputs = [each for each in tree_leaves(tuple(output.values())) if isinstance(each, torch.Tensor) and each.requires_grad]
                    with contextlib.suppress(NotImplementedError):
                        torch.autograd.backward(outputs[:1], [torch.ones_like(each) for each in outputs[:1]])
                backward = launches.calls
                launches.calls = []
                output = outputs = None
                if optimizer is not None:
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=True)
    return {'forward': forward, 'backward': backward, 'peak': launches.peak, 'saved': kept.bytes, 'kept': kept}


def smaller(fields):
    """With as few blocks as there are kinds of them."""
    return fields


def eager_steps():
    eager = root / 'measured/models/eager'
    import csv
    lines = [line for line in (root / 'measured/steps-eager.csv').read_text().splitlines() if not line.startswith('#')]
    for row in csv.DictReader(lines):
        path = eager / f"{row['model']}.config.json"
        if path.exists() and row['checkpoint'] == 'none' and row['optimizer_kernels'] == 'foreach':
            yield row, json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--precision', default='bf16', choices=halves)
    parser.add_argument('--steps', action='store_true')
    parser.add_argument('--types', nargs='+')
    parser.add_argument('--list')
    arguments = parser.parse_args()
    warnings.simplefilter('ignore')
    if arguments.steps:
        for row, fields in eager_steps():
            if arguments.types and row['model'] not in arguments.types:
                continue
            batch, length = int(row['batch']), int(row['sequence'])
            def make():
                named = {name: value for name, value in fields.items() if name != 'transformers_version'}
                return saved.build(named, row['attention'] or None)
            def inputs(model):
                ids = torch.zeros(batch, length, dtype=torch.long)
                return {'input_ids': ids, 'labels': ids.clone()}
            found = step(make, inputs, row['precision'] if row['precision'] in halves else 'fp32', True)
            tell(arguments, f"{row['model']} {row['batch']} {row['precision']} {row['attention']}", found, {'measured': int(row['allocated'])})
        return
    rows = saved.chosen([json.loads(line) for line in (root / 'test/lowering/hugging-face/configs.jsonl').read_text().splitlines()])
    seen = set()
    for row in rows:
        kind = row['config']['model_type']
        if kind in seen or (arguments.types and kind not in arguments.types):
            continue
        seen.add(kind)
        try:
            found = step(lambda: saved.build(row['config']), saved.example, arguments.precision, False)
        except Exception as error:
            print(f"{kind}: {type(error).__name__}: {str(error)[:160]}", file=sys.stderr)
            continue
        tell(arguments, row['name'], found, {'config': row['config'], **({'seq': row['seq']} if 'seq' in row else {})})


def tell(arguments, name, found, more):
    if arguments.list:
        shapes = collections.Counter((str(t.dtype)[6:], tuple(t.shape), t.untyped_storage().nbytes()) for t in found['kept'].storages.values())
        for (dtype, shape, size), count in sorted(shapes.items(), key=lambda entry: -entry[0][2] * entry[1]):
            print('kept', count * size, count, size, dtype, shape)
        for part in ('forward', 'backward'):
            for call, size, shapes in found[part]:
                print(part, call, size, shapes)
    line = {'name': name, 'saved': found['saved'], 'peak': found['peak'], 'forward': of_class(found['forward']), 'backward': of_class(found['backward']), **more}
    print(json.dumps(line), flush=True)


if __name__ == '__main__':
    main()
