/** Which parameter each input of an operator stands for, by the call that the exporter recorded. */

import { expect, test } from 'vitest';
import {
  parametersAt,
  placeholdersOfProgram,
  readByCall,
} from '../../../server/src/formats/onnx/recordedCalls.ts';
import { onnxModel } from '../../support/onnxModel.ts';

const signature = `
# inputs
p_fc_weight: PARAMETER target='fc.weight'
p_fc_bias: PARAMETER target='fc.bias'
b_bn_running_mean: BUFFER target='bn.running_mean' persistent=True
x: USER_INPUT

# outputs
y: USER_OUTPUT`;

const graphWith = (text: string) => ({
  ...onnxModel({ inputs: ['x: float32[4]'], outputs: ['y'], nodes: ['y = Relu(x)'] }).graph,
  metadata: new Map([['pkg.torch.export.ExportedProgram.graph_signature', text]]),
});

test('placeholders are those of parameters and buffers', () => {
  expect([...(placeholdersOfProgram(graphWith(signature)) ?? [])]).toEqual([
    ['p_fc_weight', 'fc.weight'],
    ['p_fc_bias', 'fc.bias'],
    ['b_bn_running_mean', 'bn.running_mean'],
  ]);
  expect(placeholdersOfProgram(graphWith('x: USER_INPUT'))).toBeUndefined();
});

test('a call reads parameters in its order, each once', () => {
  const call =
    '%linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_fc_weight, %p_fc_bias, %p_fc_weight), kwargs = {})';
  const placeholders = placeholdersOfProgram(graphWith(signature)) ?? new Map();
  expect(readByCall({ metadata: new Map([['pkg.torch.onnx.fx_node', call]]) }, placeholders)).toEqual([
    'fc.weight',
    'fc.bias',
  ]);
  expect(readByCall({ metadata: new Map() }, placeholders)).toBeUndefined();
});

test.each([
  ['own names', ['b.weight', 'b.bias'], ['b.weight', 'b.bias'], ['b.weight', 'b.bias']],
  ['merged with another layer', ['a.weight', 'a.bias'], ['b.weight', 'b.bias'], ['b.weight', 'b.bias']],
  ['one of two is read', ['a.weight'], ['b.weight', 'b.bias'], ['b.weight']],
  ['bias first in the call', ['a.weight', 'a.bias'], ['b.bias', 'b.weight'], ['b.weight', 'b.bias']],
  [
    'scale and shift are one tensor',
    ['a.weight', 'a.weight'],
    ['b.weight', 'b.bias'],
    ['b.weight', 'b.bias'],
  ],
  [
    'a bias that is stored as running mean',
    ['b.weight', 'n.running_mean'],
    ['b.weight', 'b.bias'],
    ['b.weight', 'b.bias'],
  ],
  [
    'a normalization whose four tensors are two of another',
    ['a.bias', 'a.bias', 'a.bias', 'a.weight'],
    ['b.weight', 'b.bias', 'b.running_mean', 'b.running_var'],
    ['b.weight', 'b.bias', 'b.running_mean', 'b.running_var'],
  ],
  ['one of two by its own name', ['b.bias'], ['b.weight', 'b.bias'], ['b.bias']],
  ['other names than the call has', ['scale'], ['b.weight', 'b.bias'], [undefined]],
  ['nothing recorded', ['a.weight'], [], [undefined]],
] as const)('%s', (_, weights, called, expected) => {
  expect(parametersAt(weights, called)).toEqual(expected);
});
