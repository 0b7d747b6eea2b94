/**
 * Loops of a few known iterations written out, and sequences whose elements are then known resolved.
 *
 * TorchScript exports `tensor_split` and Python lists as a `Loop` that fills a sequence. Elements of a sequence
 * share one type in ONNX, so that their shapes, and what follows from them, would be unknown although the file
 * says everything. PyTorch's exporter writes `split` as a sequence too, where it does not optimize: the same parts are
 * those of a `Split`.
 */

import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { type Constants, constantsOf } from './constantsOfNodes.ts';
import { dropUnread } from './dropUnread.ts';
import type { FlatNode } from './expandFunctions.ts';
import { renameNode } from './renameNode.ts';
import { partsOfSplits, type SplitParts } from './splitSequences.ts';

/** The nodes with short loops written out; the same list where there are none. */
export function unrollLoops(
  nodes: readonly FlatNode[],
  graph: Pick<OnnxGraph, 'initializers' | 'inputs' | 'outputs' | 'valueInfos'>,
): readonly FlatNode[] {
  if (!nodes.some(({ node }) => node.type === 'Loop' || node.type === 'SequenceAt')) return nodes;
  const constants = constantsOf(nodes, graph.initializers);
  const unrolled = nodes.flatMap((flat) => (flat.node.type === 'Loop' ? unroll(flat, constants) : [flat]));
  const splits = partsOfSplits(unrolled, graph, constants);
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  return resolveSequences(unrolled, constants, splits, outputs);
}

/** Loops that make more nodes than this stay loops: their cost is that of the body times the iterations. */
const mostUnrolledNodes = 512;
const mostIterations = 16;

function unroll(flat: FlatNode, constants: Constants): readonly FlatNode[] {
  const { node } = flat;
  const [tripName = '', conditionName = '', ...initial] = node.inputs;
  const iterations = constants.get(tripName)?.[0];
  const attribute = node.attributes.get('body');
  if (attribute?.kind !== 'graph' || iterations === undefined) return [flat];
  const body = attribute.value;
  const [iterationInput, conditionInput, ...stateInputs] = body.inputs.map(({ name }) => name);
  const [conditionOutput, ...stateOutputs] = body.outputs.map(({ name }) => name);
  const isTrue = (name: string | undefined): boolean => name === '' || constants.get(name ?? '?')?.[0] === 1;
  const endsOnlyByCount =
    isTrue(conditionName) &&
    (conditionOutput === conditionInput || isTrue(identitySource(body, conditionOutput)));
  const hasScanOutputs = stateOutputs.length > initial.length;
  if (!Number.isInteger(iterations) || iterations < 0 || iterations > mostIterations) return [flat];
  if (iterations * body.nodes.length > mostUnrolledNodes) return [flat];
  if (!endsOnlyByCount || hasScanOutputs || stateInputs.length !== initial.length) return [flat];

  const label = node.name || node.outputs[0] || 'Loop';
  const made: FlatNode[] = [];
  const place = (inner: OnnxNode): void => {
    made.push({ ...flat, node: inner });
  };
  let state: readonly string[] = initial;
  for (let iteration = 0; iteration < iterations; iteration += 1) {
    const names = new Map<string, string>();
    if (iterationInput !== undefined) names.set(iterationInput, `${label}#${iteration}/iteration`);
    if (conditionInput !== undefined) names.set(conditionInput, conditionName);
    stateInputs.forEach((name, index) => {
      names.set(name, state[index] ?? '');
    });
    place(constantNode(`${label}#${iteration}/iteration`, iteration, shapeOfInput(body, 0)));
    for (const literal of body.initializers) {
      const name = `${label}#${iteration}/${literal.name}`;
      names.set(literal.name, name);
      place({
        ...constantNode(name, 0, []),
        attributes: new Map([['value', { kind: 'tensor', value: literal }]]),
      });
    }
    for (const output of body.nodes.flatMap((inner) => inner.outputs)) {
      if (output !== '') names.set(output, `${label}#${iteration}/${output}`);
    }
    const nameOf = (name: string): string => names.get(name) ?? name;
    for (const inner of body.nodes) {
      const renamed = renameNode(inner, nameOf, () => undefined);
      place({ ...renamed, name: `${inner.name || `${label}/${inner.type}`}#${iteration}` });
    }
    state = stateOutputs.map(nameOf);
  }
  node.outputs.forEach((name, index) => {
    const last = state[index];
    if (name !== '' && last !== undefined) place(identityNode(`${label}#${name}`, last, name));
  });
  return made;
}

/** What an output of a body is handed on from. */
function identitySource(body: OnnxGraph, name: string | undefined): string | undefined {
  const producer = body.nodes.find(({ outputs }) => name !== undefined && outputs.includes(name));
  if (producer === undefined) return name;
  return producer.type === 'Identity' ? producer.inputs[0] : undefined;
}

function shapeOfInput(body: OnnxGraph, index: number): readonly number[] {
  const type = body.inputs[index]?.type;
  // The iteration is a scalar; some exporters declare one element.
  return type?.kind === 'tensor' && type.shape?.length === 1 ? [1] : [];
}

/** Takes the element where a `SequenceAt` reads a sequence that is put together in the graph. */
function resolveSequences(
  nodes: readonly FlatNode[],
  constants: Constants,
  splits: ReadonlyMap<FlatNode, SplitParts>,
  graphOutputs: ReadonlySet<string>,
): readonly FlatNode[] {
  const sequences = new Map<string, readonly string[]>();
  const taken = new Set<string>();
  const resolved = nodes.map((flat) => {
    const { node } = flat;
    const [input = '', second = '', third = ''] = node.inputs;
    const [output = ''] = node.outputs;
    const given = sequences.get(input);
    switch (node.type) {
      case 'SequenceEmpty':
        sequences.set(output, []);
        return flat;
      case 'SequenceConstruct':
        sequences.set(output, node.inputs);
        return flat;
      case 'SplitToSequence': {
        const parts = splits.get(flat);
        if (parts !== undefined) sequences.set(output, parts.names);
        return flat;
      }
      case 'Identity':
        if (given !== undefined) sequences.set(output, given);
        return flat;
      case 'SequenceInsert': {
        const position = third === '' ? given?.length : constants.get(third)?.[0];
        if (given === undefined || position === undefined) return flat;
        const index = position < 0 ? position + given.length : position;
        sequences.set(output, given.toSpliced(index, 0, second));
        return flat;
      }
      case 'SequenceAt': {
        const element = given?.at(constants.get(second)?.[0] ?? Number.NaN);
        if (element === undefined || constants.get(second) === undefined) return flat;
        taken.add(element);
        return { ...flat, node: identityNode(node.name, element, output) };
      }
      default:
        return flat;
    }
  });
  const split = resolved.flatMap((flat) => {
    const parts = splits.get(flat);
    return parts?.names.some((name) => taken.has(name)) ? [...parts.nodes, flat] : [flat];
  });
  return dropUnread(split, graphOutputs, sequences.keys(), (name) => sequences.has(name));
}

const plainNode = {
  domain: '',
  overload: '',
  metadata: new Map<string, string>(),
};

function identityNode(name: string, input: string, output: string): OnnxNode {
  return { ...plainNode, name, type: 'Identity', inputs: [input], outputs: [output], attributes: new Map() };
}

function constantNode(output: string, element: number, dimensions: readonly number[]): OnnxNode {
  const value: TensorLiteral = {
    name: '',
    elementType: 'int64',
    dimensions,
    elements: [element],
    storedBytes: 8,
  };
  return {
    ...plainNode,
    name: output,
    type: 'Constant',
    inputs: [],
    outputs: [output],
    attributes: new Map([['value', { kind: 'tensor', value }]]),
  };
}
