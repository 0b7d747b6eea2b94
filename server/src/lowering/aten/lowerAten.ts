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
import { AtenCall } from './atenCall.ts';
import type { AtenLowering } from './atenLowering.ts';
import { autocastRegion, isAutocast } from './autocastRegion.ts';
import { checkpointIssues, checkpointRegion, findCheckpoints, gradientRegion } from './checkpoints.ts';
import { isControlFlow, lowerControlFlow } from './controlFlow.ts';
import { customBackwardIssues } from './customBackward.ts';
import { decomposedIssues, isDecomposed } from './decomposed.ts';
import { evaluatedDropout } from './evaluatedDropout.ts';
import { withoutIdleMasks } from './idleMasks.ts';
import { filledWith } from './loopCounter.ts';
import { lowerCall } from './lowerCall.ts';
import { layersOfModules } from './moduleLayers.ts';
import { namesRead, operandsOf } from './namesRead.ts';
import { possibleTies } from './possibleTies.ts';
import { programInputs } from './programInputs.ts';
import { lostWrites, missingOperands, withoutGradients } from './programIssues.ts';
import { type Compute, ProgramValues } from './programValues.ts';

/** Calls of a graph that say how it runs, and change none of its operators. */
const regions: ReadonlySet<string> = new Set([gradientRegion, checkpointRegion, autocastRegion]);

/** `readSize` reads the arithmetic of an open size. */
export function lowerAten(
  exported: ExportedProgram,
  name: string,
  readSize: (text: string) => Dimension,
): { readonly model: OnnxModel; readonly structure: ProvidedStructure } {
  const program = { ...exported, graph: withoutIdleMasks(exported.graph) };
  const graph = new GraphBuilder();
  const shapeOf = (meta: TensorMeta): readonly Dimension[] =>
    meta.shape.map((size) =>
      typeof size === 'number'
        ? size
        : size === undefined
          ? unknownDimension('the archive gives no size')
          : readSize(size),
    );
  const checkpoints = findCheckpoints(program.graph);
  const lowering: AtenLowering = {
    checkpoints,
    graph,
    shapeOf,
    isDecomposed: isDecomposed(program),
    mutated: new Set(program.mutated),
    layers: new Map(),
    calls: new Map(),
    missing: [],
    lost: [],
    told: [],
  };
  const tensors = programInputs(program, lowering);
  lowerNodes(lowering, new ProgramValues(program.graph, tensors), program.outputs);
  const outputs = program.outputs.flatMap((output) => tensors.get(output) ?? []);
  graph.layers.push(...layersOfModules(lowering.layers));
  const roles: ReadonlyMap<string, ValueRole> = graph.roles;
  const issues = [
    ...missingOperands(lowering.missing),
    ...lostWrites(lowering.lost),
    ...lowering.told,
    ...checkpointIssues(checkpoints),
    ...customBackwardIssues(program.graph),
    ...decomposedIssues(program),
    ...withoutGradients(program, outputs, graph.detached),
    ...evaluatedDropout(program),
    ...possibleTies(program),
  ];
  const { calls } = lowering;
  const { detached } = graph;
  const symbolLimits = new Map(
    [...program.ranges].flatMap(([symbol, { greatest }]) =>
      greatest === undefined || greatest >= unlimited ? [] : [[symbol, greatest]],
    ),
  );
  const structure: ProvidedStructure = {
    layers: graph.layers,
    calls,
    roles,
    detached,
    symbolDefaults: new Map(),
    symbolLimits,
    issues,
  };
  return { model: graph.build(name, outputs), structure };
}

/** What torch writes for no bound: the largest integer of its own, or of 64 bits. */
const unlimited = 2 ** 31;

/** `outputs` are what is read of `values` afterwards. */
function lowerNodes(lowering: AtenLowering, values: ProgramValues, outputs: readonly string[]): void {
  const { graph } = values;
  const read = namesRead(graph, outputs);
  const compute: Compute = (node) => lowerCall(lowering, node, values);
  for (const node of graph.nodes) {
    const self = values.writtenBy(node);
    if (self === undefined && !node.outputs.some((output) => read.has(output))) continue;
    for (const operand of operandsOf(node)) values.refresh(operand, compute);
    if (regions.has(node.target)) lowerRegion(lowering, node, values);
    else if (!isControlFlow(node) || !lowerLoop(lowering, node, values))
      lowerNode(lowering, node, values, compute);
  }
  for (const output of outputs) values.refresh(output, compute);
}

function lowerNode(lowering: AtenLowering, node: AtenNode, values: ProgramValues, compute: Compute): void {
  const results = compute(node);
  values.add(node, results);
  const self = values.writtenBy(node);
  const [result] = results;
  if (self === undefined || result === undefined) return;
  if (!values.write(node, self, result, compute)) lowering.lost.push(node);
}

/** Operands follow the graph that is called. */
function lowerRegion(lowering: AtenLowering, node: AtenNode, values: ProgramValues): void {
  const { tensors } = values;
  const given = [...node.arguments.values()];
  const at = given.findIndex(({ kind }) => kind === 'graph');
  const called = given[at];
  if (called?.kind !== 'graph') return;
  const inner = new Map<string, Tensor>();
  for (const [index, operand] of given.slice(at + 1).entries()) {
    const tensor = operand.kind === 'tensor' ? tensors.get(operand.name) : undefined;
    const input = called.graph.inputs[index];
    if (tensor !== undefined && input !== undefined) inner.set(input, tensor);
  }
  const autocast = node.target === autocastRegion ? (isAutocast(node) ? 'on' : 'off') : values.autocast;
  lowerNodes(lowering, new ProgramValues(called.graph, inner, autocast), called.graph.outputs);
  const isDetached = isWithoutGradients(node) && !lowering.checkpoints.reentrant.has(node);
  for (const [index, output] of node.outputs.entries()) {
    const result = inner.get(called.graph.outputs[index] ?? '');
    if (result === undefined) continue;
    tensors.set(output, isDetached ? new AtenCall(node, lowering.graph, tensors, []).detach(result) : result);
  }
}

/** Whether the call is written out. */
function lowerLoop(lowering: AtenLowering, node: AtenNode, values: ProgramValues): boolean {
  const { graph } = lowering;
  const { tensors, autocast } = values;
  const given = [...node.arguments.values()];
  const names = given.flatMap((argument) =>
    argument.kind === 'tensors' ? [argument.names.map((name) => name ?? '')] : [],
  );
  const results = lowerControlFlow({
    node,
    call: new AtenCall(node, graph, tensors, []),
    graphs: given.flatMap((argument) => (argument.kind === 'graph' ? [argument.graph] : [])),
    names,
    lists: names.map((list) => list.map((name) => tensors.get(name))),
    filledWith: (name) => filledWith(values.graph, name),
    run: (called, operands) => {
      const inner = new Map<string, Tensor>();
      for (const [index, input] of called.inputs.entries()) {
        const operand = operands[index];
        if (operand !== undefined) inner.set(input, operand);
      }
      lowerNodes(lowering, new ProgramValues(called, inner, autocast), called.outputs);
      return called.outputs.map((output) => inner.get(output));
    },
    tell: (issue) => lowering.told.push(issue),
    size: () => graph.size,
  });
  for (const [index, output] of node.outputs.entries()) {
    const result = results?.[index];
    if (result !== undefined && output !== '') tensors.set(output, result);
  }
  return results !== undefined;
}

/** A region of `torch.no_grad`. */
const isWithoutGradients = ({ target, arguments: given }: AtenNode): boolean => {
  const [enabled] = given.values();
  return target === gradientRegion && enabled?.kind === 'boolean' && !enabled.value;
};
