/**
 * Lowers a program of `torch.export` to ONNX operators, so that an operation costs the same whatever file it comes from.
 *
 * Weights, buffers and open sizes are those that the archive names. An operator without a counterpart stays in the graph
 * under its name, with the type that the archive says: its cost is unknown, and totals are lower bounds.
 */

import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import type { AtenNode, ExportedProgram, TensorMeta } from '../../formats/pt2/syntax.ts';
import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import type { ValueRole } from '../../model/graph.ts';
import { GraphBuilder } from '../layer-spec/graphBuilder.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { ProvidedStructure } from '../providedStructure.ts';
import { AtenCall, type LowerAten } from './atenCall.ts';
import { choiceOperators } from './families/choices.ts';
import { elementOperators } from './families/elements.ts';
import { layoutOperators } from './families/layout.ts';
import { weightOperators } from './families/weights.ts';
import { possibleTies } from './possibleTies.ts';

const operators: ReadonlyMap<string, LowerAten> = new Map(
  Object.entries({ ...weightOperators, ...elementOperators, ...choiceOperators, ...layoutOperators }),
);
const prefix = 'torch.ops.aten.';

/** `readSize` reads the arithmetic of an open size. */
export function lowerAten(
  program: ExportedProgram,
  name: string,
  readSize: (text: string) => Dimension,
): { readonly model: OnnxModel; readonly structure: ProvidedStructure } {
  const graph = new GraphBuilder();
  const tensors = new Map<string, Tensor>();
  const shapeOf = (meta: TensorMeta): readonly Dimension[] =>
    meta.shape.map((size) =>
      typeof size === 'number'
        ? size
        : size === undefined
          ? unknownDimension('the archive gives no size')
          : readSize(size),
    );
  const read = namesRead(program);
  for (const { name: input, kind, target } of program.inputs) {
    const meta = program.graph.tensors.get(input);
    // A weight that two modules share is read by one of its names; nothing trains what nothing reads.
    if (meta === undefined || (kind !== 'input' && !read.has(input))) continue;
    const shape = shapeOf(meta);
    const sizes = shape.flatMap((size) => (typeof size === 'number' ? [size] : []));
    const tensor =
      kind === 'input' || sizes.length < shape.length
        ? graph.input(input, meta.elementType, shape)
        : graph.stored(target, storedRole(kind, meta), sizes, meta.elementType);
    tensors.set(input, tensor);
  }
  for (const node of program.graph.nodes) {
    if (!node.outputs.some((output) => read.has(output)) && changed(node, tensors) === undefined) continue;
    lowerNode(graph, node, tensors, program.graph.tensors, shapeOf);
  }
  const outputs = program.outputs.flatMap((output) => tensors.get(output) ?? []);
  const roles: ReadonlyMap<string, ValueRole> = graph.roles;
  const structure = { layers: graph.layers, roles, symbolDefaults: new Map(), issues: possibleTies(program) };
  return { model: graph.build(name, outputs), structure };
}

const storedRole = (kind: string, meta: TensorMeta): 'parameter' | 'frozen' | 'buffer' =>
  kind !== 'parameter' ? 'buffer' : meta.requiresGrad ? 'parameter' : 'frozen';

/** Counts of batches and checks of sizes are read by nothing. */
function namesRead(program: ExportedProgram): ReadonlySet<string> {
  const names = new Set(program.outputs);
  for (const node of program.graph.nodes) {
    for (const given of node.arguments.values()) {
      if (given.kind === 'tensor') names.add(given.name);
      if (given.kind === 'tensors') for (const entry of given.names) names.add(entry ?? '');
    }
  }
  return names;
}

/** The tensor that an operator writes into, such as `add_`. Counts of batches are integers, and left out. */
function changed(
  { target, arguments: given }: AtenNode,
  tensors: ReadonlyMap<string, Tensor>,
): string | undefined {
  if (!/^torch\.ops\.aten\.[a-z]\w*_\./.test(target)) return undefined;
  const self = given.get('self') ?? given.get('input');
  const type = self?.kind === 'tensor' ? tensors.get(self.name)?.elementType : undefined;
  return self?.kind === 'tensor' && type !== undefined && !/int/.test(type) ? self.name : undefined;
}

function lowerNode(
  graph: GraphBuilder,
  node: AtenNode,
  tensors: Map<string, Tensor>,
  metas: ReadonlyMap<string, TensorMeta>,
  shapeOf: (meta: TensorMeta) => readonly Dimension[],
): void {
  const [first = ''] = node.outputs;
  const meta = metas.get(first);
  const type = node.target.startsWith(prefix) ? node.target.slice(prefix.length) : node.target;
  const layer = node.modules.at(-1);
  const path = layer === undefined || layer.path === '' ? first : layer.path;
  const start = graph.size;
  const call = new AtenCall(node, path, graph, tensors, meta && shapeOf(meta));
  const results = operators.get(type)?.(call) ?? unknownResults(graph, node, type, path, tensors);
  for (const [index, output] of node.outputs.entries()) {
    const result = results[index];
    const known = metas.get(output);
    if (result === undefined || output === '') continue;
    tensors.set(
      output,
      known === undefined || result.shape !== undefined
        ? result
        : graph.declare(result.name, known.elementType, shapeOf(known)),
    );
  }
  const [result] = results;
  const self = changed(node, tensors);
  // Whatever reads the tensor from here on reads what was written into it.
  if (self !== undefined && result !== undefined) tensors.set(self, result);
  const ancestors = node.modules.slice(0, -1).flatMap((module) => (module.path === '' ? [] : [module.path]));
  const nodes = Array.from({ length: graph.size - start }, (_, index) => start + index);
  if (nodes.length === 0 || layer === undefined || layer.path === '') return;
  const known = graph.layers.findIndex((entry) => entry.name === layer.path);
  const before = graph.layers[known];
  const className = layer.className.slice(layer.className.lastIndexOf('.') + 1);
  if (before === undefined) graph.layers.push({ name: layer.path, type: className, ancestors, nodes });
  else graph.layers[known] = { ...before, nodes: [...before.nodes, ...nodes] };
}

function unknownResults(
  graph: GraphBuilder,
  node: AtenNode,
  type: string,
  path: string,
  tensors: ReadonlyMap<string, Tensor>,
): readonly Tensor[] {
  const inputs = [...node.arguments.values()].flatMap((given) =>
    given.kind === 'tensor'
      ? (tensors.get(given.name) ?? [])
      : given.kind === 'tensors'
        ? given.names.flatMap((name) => tensors.get(name ?? '') ?? [])
        : [],
  );
  const [, namespace = 'python', name = type] = /^torch\.ops\.([^.]+)\.(.+)$/.exec(node.target) ?? [];
  return graph.node(path, namespace, name, inputs, node.outputs.length, {});
}
