/** Checkpoints of the exported program, which an ONNX file has in its stack traces alone. */

import { expect, test } from 'vitest';
import { checkpointedExport } from '../../server/src/analysis/restoration/checkpointedExport.ts';
import { onnxModel } from '../support/onnxModel.ts';

const frame = (path: string, line: number, text: string) =>
  `  File "${path}", line ${line}, in forward\n    ${text}\n`;

/** As PyTorch 2.13 writes them. */
test.each([
  ['no trace', '', undefined],
  ['a layer', frame('/a/model.py', 7, 'return self.fc(x)'), undefined],
  [
    'a name that contains the word',
    frame('/a/model.py', 7, 'return self.load_checkpoint_head(x)'),
    undefined,
  ],
  [
    'a call of checkpoint around a layer',
    frame('/a/model.py', 9, 'return checkpoint(self.block, x, use_reentrant=False)') +
      frame('/a/linear.py', 134, 'return F.linear(input, self.weight, self.bias)'),
    'Line 9 of `model.py`',
  ],
  [
    'a line that may call it',
    frame('/a/net.py', 5, 'x = checkpoint(self.b, x) if self.saves else self.b(x)'),
    'Line 5 of `net.py` may checkpoint',
  ],
  ['a call by its module', frame('/a/net.py', 5, 'x = cp.checkpoint(self.b, x)'), 'Line 5 of `net.py`'],
])('%s', (_, trace, place) => {
  const model = onnxModel({ inputs: ['x: float32[2]'], outputs: ['y'], nodes: ['y = Relu(x)'] });
  const nodes = model.graph.nodes.map((node) => ({
    ...node,
    metadata: new Map(trace === '' ? [] : [['pkg.torch.onnx.stack_trace', trace]]),
  }));
  const issue = checkpointedExport({ graph: { ...model.graph, nodes } });
  expect(issue?.message.slice(0, place?.length)).toBe(place);
});
