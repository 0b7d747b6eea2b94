/** Classes of torch.nn that are no layers here, and what to write instead. */

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
  ['LinearCrossEntropyLoss', 'write `Linear` and `CrossEntropyLoss`'],
]);
