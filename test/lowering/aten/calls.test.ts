/**
 * One call of each operator with a counterpart, as PyTorch exported it (`test/formats/pt2/writeArchives.py`): the operators it
 * becomes give the shapes and types that the archive says, by the shape rules of ONNX alone.
 */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { analyzeOnnx } from '../../../server/src/analysis/analyzeOnnx.ts';
import { parseDimension } from '../../../server/src/analysis/parseDimension.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readPt2 } from '../../../server/src/formats/pt2/readPt2.ts';
import type { AtenNode, ExportedProgram } from '../../../server/src/formats/pt2/syntax.ts';
import { lowerAten } from '../../../server/src/lowering/aten/lowerAten.ts';
import { atenOperators } from '../../../server/src/lowering/aten/operators.ts';
import { isKnownShape } from '../../../server/src/model/graph.ts';
import { findOperator } from '../../../server/src/operators/registry.ts';

const open = (name: string): ExportedProgram => {
  const bytes = new Uint8Array(readFileSync(new URL(name, import.meta.url)));
  const { program } = readPt2(byteSourceOfBuffer(bytes));
  if (program === undefined) throw new Error(`${name} cannot be read`);
  return program;
};

/** The program that is one call, with what it reads as its inputs. */
function alone({ graph, inputs, ...rest }: ExportedProgram, node: AtenNode): ExportedProgram {
  const read = [...node.arguments.values()].flatMap((argument) =>
    argument.kind === 'tensor' ? [argument.name] : argument.kind === 'tensors' ? argument.names : [],
  );
  const stored = new Map(inputs.map((input) => [input.name, input]));
  const given = [...new Set(read)].flatMap((name) =>
    name === undefined ? [] : [stored.get(name) ?? { name, kind: 'input' as const, target: name }],
  );
  const outputs = node.outputs.filter((name) => graph.tensors.has(name));
  return { ...rest, graph: { ...graph, nodes: [node] }, inputs: given, outputs };
}

const shortName = ({ target }: AtenNode): string => target.replace('torch.ops.aten.', '');

/** Sizes that depend on data have names of their own in each. */
const written = (elementType: string, shape: readonly unknown[]): string =>
  `${elementType}[${shape.map((size) => (typeof size === 'number' ? size : '?'))}]`;

/** What the graph says that a call gives, and what the archive says. */
function compare(program: ExportedProgram, node: AtenNode): readonly [string, string] {
  const { model, structure } = lowerAten(alone(program, node), 'call', parseDimension);
  const unknown = model.graph.nodes.flatMap(({ domain, type }) =>
    domain === '' || findOperator(domain, type, 1) !== undefined ? [] : [`unknown ${type}`],
  );
  const { graph } = analyzeOnnx(model, structure);
  const own = graph.outputs.map((name) => {
    const type = graph.values.get(name)?.type;
    return type?.kind === 'tensor' && isKnownShape(type.shape)
      ? written(type.elementType, type.shape)
      : 'unknown';
  });
  // A size that only data decides has the name that the archive gives it.
  const isOpen = ({ type }: (typeof model.graph.valueInfos)[number]): boolean =>
    type?.kind === 'tensor' && type.shape?.some((size) => typeof size !== 'number') === true;
  const declared = model.graph.valueInfos.every(isOpen) ? [] : ['not inferred'];
  const given = node.outputs.flatMap((name) => program.graph.tensors.get(name) ?? []);
  const expected = given.map(({ elementType, shape }) => written(elementType, shape));
  return [[...own, ...unknown, ...declared].join(', '), expected.slice(0, own.length).join(', ')];
}

describe.each(['calls.pt2', 'coreCalls.pt2'])('%s', (name) => {
  const program = open(name);
  const computed = program.graph.nodes.filter(
    (node) =>
      node.target.startsWith('torch.ops.aten.') &&
      node.outputs.some((output) => program.graph.tensors.has(output)),
  );

  test('every call has the shapes and types that PyTorch says', () => {
    const wrong = computed.flatMap((node) => {
      const [own, expected] = compare(program, node);
      return own === expected ? [] : [`${node.outputs[0]} ${shortName(node)}: ${own}, not ${expected}`];
    });
    expect(wrong).toEqual([]);
  });
});

test('calls are of every operator with a counterpart, by one of its names', () => {
  const files = ['calls.pt2', 'coreCalls.pt2', '../../frameworks/calls/slopes.pt2'];
  const called = files.flatMap((name) => open(name).graph.nodes.map(shortName));
  const lowered = new Set(called.map((name) => atenOperators.get(name)));
  // Forms in place and in other backends share the function of one that is called; these have none that exports today.
  const uncalled = [...atenOperators].flatMap(([name, lower]) => (lowered.has(lower) ? [] : [name]));
  expect(uncalled.filter((name) => !unexported.has(name))).toEqual([]);
});

/** Names that `torch.export` of PyTorch 2.13 gives for none of these calls; older ones and other devices do. */
const unexported: ReadonlySet<string> = new Set([
  ...['_native_batch_norm_legit_no_training.default', '_batch_norm_with_update.default'],
  ...['_batch_norm_with_update_functional.default', 'nll_loss_forward.default', 'nll_loss2d_forward.default'],
  ...['reflection_pad1d.default', 'reflection_pad2d.default', 'reflection_pad3d.default'],
  ...['replication_pad1d.default', 'replication_pad2d.default', 'replication_pad3d.default'],
  ...['upsample_nearest1d.default', 'upsample_nearest2d.default', 'upsample_nearest3d.default'],
  // No kernel of the device `meta`, on which the calls are exported.
  ...['fake_quantize_per_tensor_affine.default', 'fake_quantize_per_tensor_affine.tensor_qparams'],
  'fake_quantize_per_channel_affine.default',
  ...['_upsample_nearest_exact2d.vec', 'upsample_linear1d.default', 'upsample_bilinear2d.default'],
  // `program.test.ts` has calls of these.
  ...[
    'feature_dropout.default',
    'feature_dropout_.default',
    'alpha_dropout.default',
    'alpha_dropout_.default',
  ],
  ...['feature_alpha_dropout.default', 'feature_alpha_dropout_.default'],
  // Rows of 16 bytes at least, in bf16.
  ...['_grouped_mm.default', 'torch.ops.transformers.grouped_mm_fallback.default'],
]);

/** Why operators of core ATen have no counterpart. */
const withoutCounterpart: Readonly<Record<string, string>> = {
  ...{ _adaptive_avg_pool2d_backward: 'backward', avg_pool2d_backward: 'backward' },
  ...{ convolution_backward: 'backward', embedding_dense_backward: 'backward' },
  ...{ max_pool2d_with_indices_backward: 'backward', native_group_norm_backward: 'backward' },
  native_layer_norm_backward: 'backward',
  ...{ sym_numel: 'a size', sym_size: 'a size', sym_storage_offset: 'a size', sym_stride: 'a size' },
  ...{
    resize_: 'memory of another size',
    _local_scalar_dense: 'a number on the host',
    sym_is_contiguous: 'a fact of the host',
  },
};

test('operators of core ATen have a counterpart, or a reason', () => {
  const names = z
    .array(z.string())
    .parse(JSON.parse(readFileSync(new URL('core.json', import.meta.url), 'utf8')));
  const missing = names.filter(
    (name) => !atenOperators.has(name) && !(name.replace(/\..*/, '') in withoutCounterpart),
  );
  expect(missing).toEqual([]);
});
