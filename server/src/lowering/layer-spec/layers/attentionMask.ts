/** The mask of attention that lets a token see those before it, or those near it. */

import type { LayerDefinition } from '../layerDefinition.ts';
import { flag, integer, string } from './parameters.ts';

const attentionMask: LayerDefinition = {
  name: 'AttentionMask',
  kind: 'module',
  documentation:
    'A mask of [length, length] that hides tokens behind a token, and those further away than a window; takes no input.',
  source:
    'https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html',
  inputs: { names: [], least: 0 },
  parameters: [
    integer('length', 'Tokens of a sequence.', { least: 1, beyond: true }),
    flag('causal', true, 'Whether a token sees only those before it.', { beyond: true }),
    integer('window', 'Tokens that one token sees to a side, itself included; all where it is left out.', {
      default: null,
      least: 1,
      beyond: true,
    }),
    string('dtype', 'bool says which tokens are seen; float32 is a number to add to scores.', {
      default: 'float32',
      choices: ['float32', 'bool'],
      beyond: true,
    }),
  ],
  work: 'No parameters; positions are compared with positions, which every step does anew.',
  example: { inputs: {}, call: 'AttentionMask(128, window=32)' },
  lower: (call) => {
    const length = call.integer('length');
    const rows = call.buffer('rows', [length, 1], 'int64');
    const columns = call.buffer('columns', [1, length], 'int64');
    const limits =
      call.value('window') === null ? [] : [call.scalarConstant(call.integer('window'), 'int64')];
    const moved = (by: 'Add' | 'Sub') => limits.map((limit) => call.emit(by, [rows, limit]));
    const conditions = [
      ...(call.boolean('causal')
        ? [call.emit('LessOrEqual', [columns, rows])]
        : moved('Add').map((last) => call.emit('Less', [columns, last]))),
      ...moved('Sub').map((first) => call.emit('Greater', [columns, first])),
    ];
    const [first, second] = conditions;
    if (first === undefined)
      return call.problem('spec/argument', 'a mask without a window hides nothing', 'causal');
    const seen = second === undefined ? first : call.emit('And', [first, second]);
    if (call.string('dtype') === 'bool') return seen;
    const numbers = [call.scalarConstant(0, 'float32'), call.scalarConstant(-1e30, 'float32')];
    return call.emit('Where', [seen, ...numbers]);
  },
};

export const maskLayers = [attentionMask];
