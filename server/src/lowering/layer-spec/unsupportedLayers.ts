/** What people know from PyTorch that is no layer here, and what to write instead. */

const rotary =
  'write `RotaryPositionalEmbeddings(head)` on [batch, sequence, heads, head], or `MultiheadAttention(…, rotary=True)`';

export const unsupportedLayers: ReadonlyMap<string, string> = new Map([
  ['Sequential', 'list its layers one per line, or put them into a block'],
  ['ModuleList', 'list its layers one per line, or put them into a block'],
  ['ModuleDict', 'list its layers one per line, or put them into a block'],
  ['ParameterList', 'write one `Parameter(…)` per line'],
  ['ParameterDict', 'write one `Parameter(…)` per line'],
  ['DataParallel', 'the scenario says on how many GPUs the model is trained'],
  ['TransformerEncoder', 'repeat its layer: `TransformerEncoderLayer(512, 8, batch_first=True) * 6`'],
  [
    'TransformerDecoder',
    'repeat its layer: `TransformerDecoderLayer(512, 8, batch_first=True) * 6 from target, memory`',
  ],
  ['FractionalMaxPool2d', 'its windows are drawn at random; `AdaptiveMaxPool2d(output_size)` costs the same'],
  ['FractionalMaxPool3d', 'its windows are drawn at random; `AdaptiveMaxPool3d(output_size)` costs the same'],
  ['CTCLoss', 'its work depends on the lengths of the sequences; leave it out and add its time by hand'],
  [
    'AdaptiveLogSoftmaxWithLoss',
    'its work depends on which classes occur; write `Linear` and `CrossEntropyLoss`',
  ],
  [
    'MultiLabelMarginLoss',
    'its work depends on how many labels a sample has; use `MultiLabelSoftMarginLoss`',
  ],
  [
    'TripletMarginWithDistanceLoss',
    'it calls any function; write `TripletMarginLoss`, or the function as layers',
  ],
  [
    'LayerNorm2d',
    'write `permute(0, 2, 3, 1)`, `LayerNorm(channels)`, `permute(0, 3, 1, 2)` on lines of their own',
  ],
  ['LayerScale', 'write `gamma: Parameter(channels)` and `mul(x, gamma)` on lines of their own'],
  ['DropPath', "write `StochasticDepth(p, 'row')`"],
  ['RoPE', rotary],
  ['apply_rotary_emb', rotary],
  ['apply_rotary_pos_emb', rotary],
  ['SwiGLU', 'write its three `Linear` layers, `silu` and `mul`'],
  ['arange', 'name it under `inputs`, such as `positions: int64[seq]`'],
  ['zeros', 'name it under `inputs`, or write `Buffer(…)`'],
  ['ones', 'name it under `inputs`, or write `Buffer(…)`'],
  ...['contiguous', 'detach', 'clone', 'to'].map((name): [string, string] => [
    name,
    'it changes no cost here; leave the line out',
  ]),
  ...Object.entries({
    cross_entropy: 'CrossEntropyLoss',
    nll_loss: 'NLLLoss',
    mse_loss: 'MSELoss',
    l1_loss: 'L1Loss',
    binary_cross_entropy: 'BCELoss',
    binary_cross_entropy_with_logits: 'BCEWithLogitsLoss',
  }).map(([name, loss]): [string, string] => [name, `write \`${loss}() from scores, target\``]),
  ['LinearCrossEntropyLoss', 'write `Linear` and `CrossEntropyLoss`'],
]);
