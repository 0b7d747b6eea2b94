/**
 * Differences from a mean that a TorchScript export has once, and most programs compute twice.
 *
 * Normalizations that are written out say `s = (x - u).pow(2).mean(1)` and then `(x - u) / torch.sqrt(s + eps)` (ConvNeXt, DeBERTa,
 * Conv-TasNet), or take `x.var(1)`, which the exporter writes out. It merges equal operators before it converts any (2.x
 * torch/onnx/utils.py, `_optimize_graph`, `_jit_pass_cse`), so that one difference stands for two, each of which is kept for
 * backward. Nothing in the file tells them from one that a program names and reads twice: what is assumed is said.
 */

import type { OnnxModel, OnnxNode } from '../formats/onnx/syntax.ts';
import type { Issue } from '../model/issue.ts';
import type { FlatNode } from './expandFunctions.ts';

export interface SplitCentres {
  /** The same nodes where none is shared. */
  readonly nodes: readonly FlatNode[];
  readonly issues: readonly Issue[];
}

export function splitSharedCentres(
  nodes: readonly FlatNode[],
  { producerName, operatorSets }: OnnxModel,
): SplitCentres {
  const isRecorded = nodes.some(({ node }) =>
    [...node.metadata.keys()].some((key) => key.startsWith('pkg.torch.onnx.')),
  );
  if (producerName !== 'pytorch' || isRecorded) return { nodes, issues: [] };
  const opset = operatorSets.find(({ domain }) => domain === '')?.version;
  const producers = new Map<string, OnnxNode>();
  const readers = new Map<string, OnnxNode[]>();
  for (const { node } of nodes) {
    for (const name of node.outputs) producers.set(name, node);
    for (const name of new Set(node.inputs)) {
      const others = readers.get(name);
      if (others === undefined) readers.set(name, [node]);
      else others.push(node);
    }
  }
  const isSquareOfStatistic = ({ type, inputs, outputs: [square = ''] }: OnnxNode): boolean => {
    const isSquare = type === 'Pow' || (type === 'Mul' && inputs[0] === inputs[1]);
    return isSquare && readers.get(square)?.every((node) => isAverage(node)) === true;
  };
  /** By what reads a difference besides its square: the difference. */
  const shared = new Map<OnnxNode, FlatNode>();
  for (const flat of nodes) {
    const { type, inputs, outputs } = flat.node;
    if (type !== 'Sub' || !isMeanOf(inputs[1], inputs[0], producers)) continue;
    if (isOfLayerNorm(producers.get(inputs[1] ?? ''), opset)) continue;
    const both = readers.get(outputs[0] ?? '') ?? [];
    const rest = both.filter((node) => !isSquareOfStatistic(node));
    const [other] = rest;
    if (both.length === 2 && rest.length === 1 && other !== undefined) shared.set(other, flat);
  }
  const [first] = shared.values();
  if (first === undefined) return { nodes, issues: [] };
  return {
    nodes: nodes.flatMap((flat) => {
      const difference = shared.get(flat.node);
      return difference === undefined ? [flat] : readingAgain(flat, difference);
    }),
    issues: [
      {
        code: 'graph/assumed-calls',
        severity: 'information',
        message: `${shared.size === 1 ? '1 difference from a mean is' : `${shared.size} differences from a mean are`} costed as computed twice, first \`${first.node.name || first.node.outputs[0]}\`. The TorchScript exporter merges equal operators, and the file does not show whether there were two; the default exporter records it`,
      },
    ],
  };
}

/** The difference once more in front of its reader, which reads that. */
function readingAgain(flat: FlatNode, { node: difference, ...rest }: FlatNode): readonly FlatNode[] {
  const [output = ''] = difference.outputs;
  const again = `${output} (again)`;
  return [
    { ...rest, node: { ...difference, name: `${difference.name} (again)`, outputs: [again] } },
    {
      ...flat,
      node: { ...flat.node, inputs: flat.node.inputs.map((name) => (name === output ? again : name)) },
    },
  ];
}

/**
 * Before opset 17 the exporter writes `F.layer_norm` out itself, over the last axes (2.x torch/onnx/symbolic_opset9.py, `layer_norm`):
 * one kernel, whose difference is in no program.
 */
function isOfLayerNorm(mean: OnnxNode | undefined, opset: number | undefined): boolean {
  if (opset === undefined || opset >= 17) return false;
  const axes = mean?.attributes.get('axes');
  return axes?.kind === 'ints' && axes.value.every((axis, place, { length }) => axis === place - length);
}

const isAverage = ({ type }: OnnxNode): boolean => type === 'ReduceMean' || type === 'ReduceSum';

/** Whether a value is a mean of `input`, over some axes and then over others. */
function isMeanOf(
  name: string | undefined,
  input: string | undefined,
  producers: ReadonlyMap<string, OnnxNode>,
): boolean {
  const mean = producers.get(name ?? '');
  if (mean?.type !== 'ReduceMean') return false;
  return mean.inputs[0] === input || isMeanOf(mean.inputs[0], input, producers);
}
