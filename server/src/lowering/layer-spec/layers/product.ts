/** Products of tensors, none of them a weight. */

import { equalDimensions, printDimension } from '../../../model/dimension.ts';
import { type LayerDefinition, type LayerLowering, text } from '../layerDefinition.ts';
import { hasRank } from './inputRank.ts';
import { string } from './parameters.ts';

const product = (name: 'matmul' | 'bmm' | 'mm', documentation: string): LayerDefinition => ({
  name,
  kind: 'function',
  documentation,
  source: `torch.${name}.html`,
  inputs: { names: name === 'bmm' || name === 'mm' ? ['input', 'mat2'] : ['input', 'other'], least: 2 },
  parameters: [],
  work: '2·rows·inner·columns FLOPs per matrix.',
  example:
    name === 'mm'
      ? { inputs: { a: 'float32[128, 64]', b: 'float32[64, 32]' }, call: 'mm(a, b)' }
      : { inputs: { a: 'float32[8, 128, 64]', b: 'float32[8, 64, 32]' }, call: `${name}(a, b)` },
  lower: (call) => {
    if (name === 'bmm' && !hasRank(call, [3], '[batch, rows, columns]')) return undefined;
    if (name === 'mm' && !hasRank(call, [2], '[rows, columns]')) return undefined;
    return fits(call) ? call.emit('MatMul', [call.inputs[0], call.inputs[1]]) : undefined;
  },
});

/** Whether the columns of one are the rows of the other, as far as known. */
function fits(call: LayerLowering): boolean {
  const [left, right] = [call.inputs[0]?.shape, call.inputs[1]?.shape];
  const columns = left?.at(-1);
  const rows = right?.at(right.length === 1 ? -1 : -2);
  if (typeof columns !== 'number' || typeof rows !== 'number' || equalDimensions(columns, rows)) return true;
  const shapes = [left, right].map((shape) => `[${shape?.map(printDimension).join(', ')}]`);
  call.problem(
    'shape/mismatch',
    `${shapes[0]} and ${shapes[1]} have no product: ${columns} columns do not meet ${rows} rows`,
  );
  return false;
}

const einsum: LayerDefinition = {
  name: 'einsum',
  kind: 'function',
  documentation: 'Sum of products over named indices.',
  source: 'torch.einsum.html',
  inputs: { names: ['operands'], least: 1, variadic: true },
  parameters: [string('equation', "Indices of every operand and of the result: 'bij,bjk->bik'.")],
  work: '2 FLOPs per multiply-add.',
  example: {
    inputs: { a: 'float32[8, 128, 64]', b: 'float32[8, 64, 32]' },
    call: "einsum('bij,bjk->bik', a, b)",
  },
  lower: (call) => {
    const equation = call.string('equation').replaceAll(' ', '');
    const terms = equation.split('->')[0]?.split(',') ?? [];
    if (terms.length !== call.inputs.length) {
      return call.problem(
        'spec/argument',
        `'${equation}' has ${terms.length} operands, but ${call.inputs.length} tensors are given`,
        'equation',
      );
    }
    for (const [index, term] of terms.entries()) {
      const rank = call.inputs[index]?.shape?.length;
      if (rank !== undefined && !term.includes('...') && term.length !== rank) {
        return call.problem(
          'shape/mismatch',
          `'${term}' names ${term.length} axes, but operand ${index + 1} has ${rank}`,
          'equation',
        );
      }
    }
    return call.emit('Einsum', call.inputs, { equation: text(equation) });
  },
};

const outer: LayerDefinition = {
  name: 'outer',
  kind: 'function',
  documentation: 'Products of all pairs of elements of two vectors.',
  source: 'torch.outer.html',
  inputs: { names: ['input', 'vec2'], least: 2 },
  parameters: [],
  example: { inputs: { a: 'float32[128]', b: 'float32[64]' }, call: 'outer(a, b)' },
  lower: (call) => {
    if (!hasRank(call, [1], '[elements]')) return undefined;
    const column = call.emit('Unsqueeze', [call.inputs[0], call.integersConstant([1])]);
    return call.emit('Mul', [column, call.inputs[1]]);
  },
};

export const productLayers = [
  product('matmul', 'Product of the last two axes, broadcast over the others.'),
  product('bmm', 'Product of matrices in batches of the same size.'),
  product('mm', 'Product of two matrices.'),
  einsum,
  outer,
];
