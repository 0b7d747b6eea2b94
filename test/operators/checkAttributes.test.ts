/** Attributes of operators: the table is that of the onnx package, and what it does not have is said. */

import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { attributesOf, historyOf, printAttributeType } from '../../server/src/operators/attributes.ts';
import { checkAttributes } from '../../server/src/operators/checkAttributes.ts';
import { type AttributeShorthand, attributesOf as attributes } from '../../server/src/operators/context.ts';
import { pythonWith } from '../support/pythonWith.ts';
import { onnxSchemas } from './onnxSchemas.ts';

it.each<[string, string, number, string]>([
  [
    'Conv',
    '',
    22,
    'auto_pad: string = "NOTSET", dilations: ints, group: int = 1, kernel_shape: ints, pads: ints, strides: ints',
  ],
  [
    'BatchNormalization',
    '',
    6,
    'epsilon: float = 1e-05, is_test: int = 0, momentum: float = 0.9, spatial: int = 1',
  ],
  ['BatchNormalization', '', 9, 'epsilon: float = 1e-05, momentum: float = 0.9'],
  [
    'BatchNormalization',
    'ai.onnx',
    15,
    'epsilon: float = 1e-05, momentum: float = 0.9, training_mode: int = 0',
  ],
  ['Concat', '', 1, 'axis: int'],
  ['Concat', '', 4, 'axis: int, required'],
  ['Normalizer', 'ai.onnx.ml', 1, 'norm: string = "MAX"'],
  ['BitCast', '', 13, 'to: int, required'],
  ['constructor', '', 13, ''],
  ['Conv', 'constructor', 13, ''],
  ['Gelu', 'com.microsoft', 1, ''],
])('knows the attributes of %s %s %i', (type, domain, opset, expected) => {
  const found = attributesOf(domain, type, opset).map((each) => `${each.name}: ${printAttributeType(each)}`);
  expect(found.join(', ')).toBe(expected);
});

it('knows every operator of ONNX', () => {
  const missing = Object.entries(onnxSchemas).flatMap(([domain, operators]) =>
    Object.keys(operators).filter((type) => historyOf(domain, type) === undefined),
  );
  expect(missing).toEqual([]);
});

const python = pythonWith('onnx');

it(`is the table of the onnx package${python === undefined ? ' (not checked: no Python with onnx)' : ''}`, () => {
  if (python === undefined) return;
  const script = resolve(import.meta.dirname, '../../scripts/onnxAttributes.py');
  const version = spawnSync(python, ['-c', 'import onnx; print(onnx.__version__)'], { encoding: 'utf8' });
  if (version.stdout.trim() !== '1.23.1' && version.stdout.trim() !== '1.23.0') return;
  expect(spawnSync(python, [script, '--check'], { encoding: 'utf8' }).stderr).toBe('');
});

type Row = readonly [
  operator: string,
  opset: number,
  given: Readonly<Record<string, AttributeShorthand>>,
  ...problems: readonly string[],
];

const rows: readonly Row[] = [
  ['Conv', 22, { kernel_shape: [3, 3], group: 2, auto_pad: 'VALID' }],
  [
    'Conv',
    22,
    { kernal_shape: [3, 3] },
    'has no attribute `kernal_shape`, which is left out; did you mean `kernel_shape`?',
  ],
  ['Gemm', 13, { zzz: 1 }, 'has no attribute `zzz`, which is left out; it takes alpha, beta, transA, transB'],
  ['Relu', 14, { alpha: 0.5 }, 'has no attribute `alpha`, which is left out; it takes none'],
  [
    'BatchNormalization',
    13,
    { training_mode: 1 },
    'has no attribute `training_mode` in operator set 13, only from 14 on: remove it, or change the version that the model imports',
  ],
  [
    'BatchNormalization',
    15,
    { spatial: 1 },
    'has no attribute `spatial` in operator set 15, only before 9: remove it, or change the version that the model imports',
  ],
  [
    'Upsample',
    9,
    { scales: { kind: 'floats', value: [2] } },
    'has no attribute `scales` in operator set 9, only from 7 to 8: remove it, or change the version that the model imports',
  ],
  ['Gemm', 13, { alpha: 2 }, 'takes a number with a point as `alpha`, not a whole number: write `2.0`'],
  ['Transpose', 13, { perm: 0 }, 'takes a list of whole numbers as `perm`, not a whole number: write `[0]`'],
  ['Concat', 13, { axis: [1] }, 'takes a whole number as `axis`, not a list of whole numbers: write `1`'],
  [
    'Concat',
    13,
    { axis: [1, 2] },
    'takes a whole number as `axis`, not a list of whole numbers: give it a whole number',
  ],
  [
    'LSTM',
    14,
    { activations: 'Tanh' },
    'takes a list of texts as `activations`, not a text: write `["Tanh"]`',
  ],
  [
    'Concat',
    13,
    {},
    'needs the attribute `axis`, a whole number: give it one, runtimes refuse the operator without',
  ],
  ['Concat', 1, {}],
  // What refers to a caller's attribute is as that one is, where it does not say.
  ['Concat', 13, { axis: { kind: 'reference', value: 'dim' } }],
  [
    'Concat',
    13,
    { axis: { kind: 'reference', value: 'dim', type: 'float' } },
    'takes a whole number as `axis`, not a number with a point: give it a whole number',
  ],
  // What was too long to keep has no kind.
  ['Constant', 13, { value: { kind: 'other', value: 'tensor' } }],
  // Newer than the table, or of somebody else.
  ['Conv', 99, { kernal_shape: [3, 3] }],
  ['com.microsoft.FusedConv', 1, { anything: 1 }],
  [
    'ai.onnx.ml.Scaler',
    3,
    { ofset: { kind: 'floats', value: [1] } },
    'has no attribute `ofset`, which is left out; did you mean `offset`?',
  ],
];

it.each(rows.map(([operator, opset, given, ...problems]) => ({ operator, opset, given, problems })))(
  '$operator of version $opset given $given',
  ({ operator, opset, given, problems }) => {
    const point = operator.lastIndexOf('.');
    const domain = operator.slice(0, Math.max(0, point));
    const found = checkAttributes(domain, operator.slice(point + 1), opset, attributes(given));
    expect(found.map(({ message }) => message)).toEqual(problems);
  },
);
