/**
 * Bags of embeddings that exporters write as a loop over bags, as what PyTorch runs: one lookup of all rows, which are added
 * where they belong.
 *
 * How many rows a bag has is known only when the model runs; how many there are in all, and how many bags, the graph says.
 * Sources: torch/onnx/_internal/torchscript_exporter/symbolic_opset13.py of PyTorch 2.13, `embedding_bag` (a body that slices
 * indices and looks them up); onnxscript 0.5, function_libs/torch_lib/ops/core.py, `_aten_embedding_bag_onnx` (one that slices
 * rows and inserts their sum into a sequence).
 */

import { argumentsOfCall } from '../formats/onnx/recordedCalls.ts';
import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { constantsOf } from './constantsOfNodes.ts';
import type { FlatNode } from './expandFunctions.ts';

/** The nodes with such loops written as a lookup and a sum; the same list where there are none. */
export function writeOutBags(
  nodes: readonly FlatNode[],
  { initializers }: Pick<OnnxGraph, 'initializers'>,
): readonly FlatNode[] {
  if (!nodes.some(({ node }) => node.type === 'Loop')) return nodes;
  const outer = constantsOf(nodes, initializers);
  const readers = new Map<string, FlatNode>();
  for (const flat of nodes) for (const name of flat.node.inputs) readers.set(name, flat);
  const producers = new Map(nodes.flatMap((flat) => flat.node.outputs.map((name) => [name, flat] as const)));
  const standIns = new Map<FlatNode, readonly FlatNode[]>();
  for (const flat of nodes) {
    const bags = flat.node.type === 'Loop' ? bagsOf(flat.node, outer) : undefined;
    if (bags === undefined) continue;
    const loopOutput = flat.node.outputs[bags.output] ?? '';
    const joined = bags.inSequence ? readers.get(loopOutput) : undefined;
    if (bags.inSequence && joined?.node.type !== 'ConcatFromSequence') continue;
    const result = joined?.node.outputs[0] ?? loopOutput;
    const scaled = bags.table === undefined ? scaledByOnes(bags.list, producers, outer) : undefined;
    const rows = scaled?.node.inputs[0] ?? '';
    // What else reads them reads the rows.
    if (scaled !== undefined) {
      standIns.set(scaled, [{ ...scaled, node: { ...scaled.node, type: 'Identity', inputs: [rows] } }]);
    }
    const written = lookupAndSum(scaled === undefined ? bags : { ...bags, list: rows }, result);
    standIns.set(
      flat,
      written.map((node) => ({ ...flat, node })),
    );
    if (joined !== undefined) standIns.set(joined, []);
    const empty = nodes.find(
      ({ node }) => node.type === 'SequenceEmpty' && flat.node.inputs.includes(node.outputs[0] ?? ''),
    );
    if (bags.inSequence && empty !== undefined) standIns.set(empty, []);
  }
  return standIns.size === 0 ? nodes : nodes.flatMap((flat) => standIns.get(flat) ?? [flat]);
}

/**
 * What multiplies the rows of a lookup by ones. The exporter writes so a bag without `per_sample_weights` (onnxscript 0.7,
 * `aten_embedding_bag`: "because cannot check 'None' in ONNX-Script"), and PyTorch adds the rows alone.
 */
function scaledByOnes(
  name: string,
  producers: ReadonlyMap<string, FlatNode>,
  constants: ReadonlyMap<string, readonly number[]>,
): FlatNode | undefined {
  const flat = producers.get(name);
  const [rows = '', scale = ''] = flat?.node.inputs ?? [];
  if (flat?.node.type === 'Cast' || flat?.node.type === 'Identity') {
    return scaledByOnes(rows, producers, constants);
  }
  if (flat?.node.type !== 'Mul' || producers.get(rows)?.node.type !== 'Gather') return undefined;
  return isOnes(scale, producers, constants) || isCalledWithout(flat.node) ? flat : undefined;
}

/** Whether the call is recorded and reads a table, indices and offsets, and no more: a file may hold many ones unread. */
const isCalledWithout = (node: OnnxNode): boolean =>
  /\baten\.embedding_bag\./.test(node.metadata.get('pkg.torch.onnx.fx_node') ?? '') &&
  (argumentsOfCall(node)?.length ?? mostArguments) < mostArguments;

const mostArguments = 4;

function isOnes(
  name: string,
  producers: ReadonlyMap<string, FlatNode>,
  constants: ReadonlyMap<string, readonly number[]>,
  depth = 0,
): boolean {
  const elements = constants.get(name);
  if (elements !== undefined) return elements.length > 0 && elements.every((each) => each === 1);
  const node = producers.get(name)?.node;
  const repeats = node !== undefined && /^(?:Expand|Cast|CastLike|Unsqueeze|Identity)$/.test(node.type);
  return repeats && depth < deepest && isOnes(node.inputs[0] ?? '', producers, constants, depth + 1);
}

interface Bags {
  /** Looked up by all indices; absent where `list` are the rows. */
  readonly table: string | undefined;
  readonly list: string;
  /** A number for each row, which multiplies it; absent where rows are added as they are. */
  readonly scales?: string;
  /** How many bags there are. */
  readonly count: string;
  readonly reduction: 'add' | 'max';
  /** Of the loop: position of the results. */
  readonly output: number;
  readonly inSequence: boolean;
}

function bagsOf(
  { inputs, attributes }: OnnxNode,
  outer: ReadonlyMap<string, readonly number[]>,
): Bags | undefined {
  const body = attributes.get('body');
  if (body?.kind !== 'graph') return undefined;
  const inside = nodesInside(body.value);
  const constants = constantsOf(
    inside.map((node) => ({ node })),
    body.value.initializers,
  );
  const producers = new Map(inside.flatMap((node) => node.outputs.map((name) => [name, node] as const)));
  const known = new Set([...producers.keys(), ...body.value.inputs.map(({ name }) => name)]);
  for (const node of inside) {
    if (!(node.type in reductions)) continue;
    const [summed = '', axes = ''] = node.inputs;
    const given = node.attributes.get('axes');
    const along = given?.kind === 'ints' ? given.value : (constants.get(axes) ?? outer.get(axes));
    const rows = along?.length === 1 && along[0] === 0 ? slicedOf(summed, producers, known) : undefined;
    if (rows === undefined) continue;
    const reduction = node.type === 'ReduceMax' ? 'max' : 'add';
    const states = inputs.length - 2;
    const stacked = body.value.outputs.findIndex(({ name }) => name === node.outputs[0]) - 1;
    if (stacked >= states && inputs[0] !== '') {
      return { ...rows, reduction, count: inputs[0] ?? '', output: stacked, inSequence: false };
    }
    const inserted = body.value.nodes.findIndex(({ type }) => type === 'SequenceInsert');
    const filled = body.value.nodes[inserted]?.outputs[0];
    const output = body.value.outputs.findIndex(({ name }) => name === filled) - 1;
    const count = boundOfCount(body.value, producers);
    if (output < 0 || count === undefined || known.has(count)) continue;
    return { ...rows, reduction, count, output, inSequence: true };
  }
  return undefined;
}

const reductions = { ReduceSum: true, ReduceMean: true, ReduceMax: true };

const nodesInside = (graph: OnnxGraph): readonly OnnxNode[] =>
  graph.nodes.flatMap((node) => [
    node,
    ...[...node.attributes.values()].flatMap((attribute) =>
      attribute.kind === 'graph' ? nodesInside(attribute.value) : [],
    ),
  ]);

/** What a value of the body is a slice of, directly or as the indices of a lookup: of the graph around it. */
function slicedOf(
  name: string,
  producers: ReadonlyMap<string, OnnxNode>,
  known: ReadonlySet<string>,
  depth = 0,
): Pick<Bags, 'table' | 'list' | 'scales'> | undefined {
  const node = producers.get(name);
  if (node === undefined || depth > deepest) return undefined;
  const [data = '', second = ''] = node.inputs;
  switch (node.type) {
    case 'Slice':
      // Where it begins, the iteration decides.
      return known.has(data) || !known.has(second) ? undefined : { table: undefined, list: data };
    case 'Gather': {
      const indices = known.has(data) ? undefined : slicedOf(second, producers, known, depth + 1);
      return indices?.table === undefined && indices !== undefined ? { ...indices, table: data } : undefined;
    }
    case 'If': {
      const position = node.outputs.indexOf(name);
      for (const branch of ['then_branch', 'else_branch']) {
        const attribute = node.attributes.get(branch);
        const output = attribute?.kind === 'graph' ? attribute.value.outputs[position]?.name : undefined;
        const found = output === undefined ? undefined : slicedOf(output, producers, known, depth + 1);
        if (found !== undefined) return found;
      }
      return undefined;
    }
    case 'Mul': {
      const [rows, scales] = [data, second].map((each) => slicedOf(each, producers, known, depth + 1));
      return rows?.table === undefined || scales === undefined || scales.table !== undefined
        ? undefined
        : { ...rows, scales: scales.list };
    }
    case 'Identity':
    case 'Cast':
    case 'Unsqueeze':
      return slicedOf(data, producers, known, depth + 1);
    default:
      return undefined;
  }
}

const deepest = 8;

/** The second operand of the comparison that ends the loop. */
function boundOfCount(body: OnnxGraph, producers: ReadonlyMap<string, OnnxNode>): string | undefined {
  const condition = producers.get(body.outputs[0]?.name ?? '');
  const comparison = condition?.type === 'Identity' ? producers.get(condition.inputs[0] ?? '') : condition;
  return comparison?.type === 'Less' ? comparison.inputs[1] : undefined;
}

/** Rows [indices, width] added to [bags, width], as `lowering/layer-spec/layers/embedding.ts` writes it. */
function lookupAndSum({ table, list, scales, count, reduction }: Bags, result: string): readonly OnnxNode[] {
  const name = (part: string): string => `${result}#${part}`;
  const node = (type: string, inputs: readonly string[], output: string, attributes = {}): OnnxNode => ({
    name: output,
    type,
    domain: '',
    overload: '',
    metadata: new Map(),
    inputs,
    outputs: [output],
    attributes: new Map(Object.entries(attributes)),
  });
  const constant = (
    part: string,
    elements: readonly number[],
    elementType: TensorLiteral['elementType'] = 'int64',
  ): OnnxNode => {
    const dimensions = [elements.length];
    const value: TensorLiteral = { name: '', elementType, dimensions, elements, storedBytes: 8 };
    return node('Constant', [], name(part), { value: { kind: 'tensor', value } });
  };
  const found = table === undefined ? list : name('rows');
  const rows = scales === undefined ? found : name('scaled');
  const scaled = [
    node('Unsqueeze', [scales ?? '', name('one')], name('scales')),
    node('Mul', [found, name('scales')], rows),
  ];
  return [
    ...(table === undefined ? [] : [node('Gather', [table, list], found)]),
    constant('zero', [0]),
    constant('one', [1]),
    ...(scales === undefined ? [] : scaled),
    constant('all', [-1]),
    constant('nothing', [0], 'float32'),
    node('Shape', [rows], name('shape')),
    node('Gather', [name('shape'), name('one')], name('width')),
    node('Gather', [name('shape'), name('zero')], name('indices')),
    node('Reshape', [count, name('all')], name('count')),
    node('Concat', [name('count'), name('width')], name('size'), { axis: { kind: 'int', value: 0 } }),
    node('Expand', [name('nothing'), name('size')], name('bags')),
    node('Concat', [name('indices'), name('one')], name('places'), { axis: { kind: 'int', value: 0 } }),
    node('Expand', [name('zero'), name('places')], name('bag')),
    node('ScatterND', [name('bags'), name('bag'), rows], result, {
      reduction: { kind: 'string', value: reduction },
    }),
  ];
}
