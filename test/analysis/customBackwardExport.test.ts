/** Functions with a backward of their own, which an ONNX file has in its stack traces alone. */

import { expect, test } from 'vitest';
import { customBackwardExport } from '../../server/src/analysis/restoration/customBackwardExport.ts';
import { onnxModel } from '../support/onnxModel.ts';

const frame = (path: string, line: number, text: string) =>
  `  File "${path}", line ${line}, in forward\n    ${text}\n`;
const swish = (line: number) =>
  frame('/a/net.py', line, 'x = Swish.apply(self.conv(x))') +
  frame('/a/ops.py', 4, 'ctx.save_for_backward(x); return x * torch.sigmoid(x)');

/** As PyTorch 2.13 writes them. */
test.each([
  ['no trace', [], undefined],
  ['a layer', [frame('/a/net.py', 7, 'return self.fc(x)')], undefined],
  [
    'a layer inside the call of a function',
    [frame('/a/net.py', 9, 'x = Swish.apply(self.conv(x))') + frame('/a/conv.py', 5, 'return self.run(x)')],
    undefined,
  ],
  [
    'a function',
    [swish(9)],
    '`Swish`, called in line 9 of `net.py`, has a backward of its own, which ONNX does not hold:',
  ],
  [
    'two',
    [swish(9), frame('/a/net.py', 12, 'x = Round.apply(x)') + frame('/a/ops.py', 9, 'return torch.round(x)')],
    '`Swish`, called in line 9 of `net.py`, has a backward of its own, which ONNX does not hold (2 functions are such):',
  ],
])('%s', (_, traces, start) => {
  const model = onnxModel({
    inputs: ['x: float32[2]'],
    outputs: ['y'],
    nodes: traces.length < 2 ? ['y = Relu(x)'] : ['h = Relu(x)', 'y = Relu(h)'],
  });
  const nodes = model.graph.nodes.map((node, index) => ({
    ...node,
    metadata: new Map(traces[index] === undefined ? [] : [['pkg.torch.onnx.stack_trace', traces[index]]]),
  }));
  const issue = customBackwardExport({ graph: { ...model.graph, nodes } });
  expect(issue?.message.slice(0, start?.length)).toBe(start);
  expect(issue?.code).toBe(start && 'graph/custom-backward');
});
