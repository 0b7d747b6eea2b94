/** Reads a graph: of the model, whose parts have a place each, or inside a node. */

import type { TensorLiteral } from '../../model/attribute.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { OnnxGraph, OnnxValueInfo } from '../onnx/syntax.ts';
import { readEntries } from './readEntries.ts';
import { readNodes } from './readNodes.ts';
import { readValueInfo } from './readValueInfo.ts';
import type { TextReading } from './textReading.ts';
import type { NodeSpans, SectionSpan } from './textSpans.ts';

/** Receives where the parts of the model's graph are. */
export interface GraphSpans {
  readonly nodes: NodeSpans[];
  readonly values: Map<string, TextSpan>;
  readonly sections: SectionSpan[];
}

/** Tensors with values, wherever they are declared. */
interface Stored {
  readonly initializers: TensorLiteral[];
  readonly sparseInitializers: TensorLiteral[];
}

/** With `spans`, which are those of the model, reading goes on behind parts that are wrong. */
export function readGraph(reading: TextReading, spans?: GraphSpans): OnnxGraph {
  const { cursor } = reading;
  const addSection = (kind: SectionSpan['kind'], start: number): void => {
    spans?.sections.push({ kind, span: { start, end: cursor.tokenEnd } });
  };
  const outer = cursor.hint;
  cursor.hint = signatureHint;
  const stored: Stored = { initializers: [], sparseInitializers: [] };
  let start = cursor.next();
  const name = cursor.name('the name of a graph');
  const inputs = readInputs(reading, stored, spans);
  addSection('inputs', start);
  cursor.expect('=>');
  start = cursor.next();
  const outputs = readOutputs(reading, spans);
  addSection('outputs', start);
  cursor.hint = 'weights are written `<float[3,4] w = {...}, float[N] hidden>`';
  start = cursor.next();
  const isStored = cursor.matches('<');
  const valueInfos = isStored ? readStored(reading, stored, spans) : [];
  if (isStored) addSection('initializers', start);
  cursor.hint = signatureHint;
  if (spans !== undefined) skipToNodes(reading);
  start = cursor.next();
  const nodes = readNodes(reading, spans?.nodes);
  addSection('nodes', start);
  cursor.hint = outer;
  return { name, nodes, inputs, outputs, valueInfos, ...stored };
}

const signatureHint = 'a graph is written `name (float[N,3] x) => (float[N,4] y) { nodes }`';

/** Inputs in parentheses, which may have values as initializers do. */
function readInputs(reading: TextReading, stored: Stored, spans?: GraphSpans): readonly OnnxValueInfo[] {
  const { cursor } = reading;
  const inputs: OnnxValueInfo[] = [];
  if (!cursor.matches('(') || cursor.matches(')')) return inputs;
  readEach(reading, ')', spans, () => {
    const { info, span, typeSpan } = readValueInfo(cursor);
    if (cursor.matchesAssignment()) readTensor(reading, info, typeSpan, stored);
    if (cursor.failed) return;
    inputs.push(info);
    spans?.values.set(info.name, span);
  });
  return inputs;
}

function readOutputs(reading: TextReading, spans?: GraphSpans): readonly OnnxValueInfo[] {
  const { cursor } = reading;
  const outputs: OnnxValueInfo[] = [];
  cursor.expect('(');
  if (cursor.failed || cursor.matches(')')) return outputs;
  readEach(reading, ')', spans, () => {
    const { info, span } = readValueInfo(cursor);
    if (cursor.failed) return;
    outputs.push(info);
    noteValue(info, span, spans);
  });
  return outputs;
}

/** Initializers, behind their `<`, and the types of other values among them, which it gives. */
function readStored(reading: TextReading, stored: Stored, spans?: GraphSpans): readonly OnnxValueInfo[] {
  const { cursor } = reading;
  const valueInfos: OnnxValueInfo[] = [];
  if (cursor.matches('>')) return valueInfos;
  readEach(reading, '>', spans, () => {
    const { info, span, typeSpan } = readValueInfo(cursor);
    if (cursor.matchesAssignment()) {
      noteValue(info, span, spans);
      readTensor(reading, info, typeSpan, stored);
    } else if (!cursor.failed) valueInfos.push(info);
  });
  return valueInfos;
}

function readEach(
  reading: TextReading,
  close: ')' | '>',
  spans: GraphSpans | undefined,
  read: () => void,
): void {
  readEntries(reading.cursor, close, read, spans === undefined ? undefined : () => reading.report());
}

/** Where a value is first declared. */
function noteValue({ name }: OnnxValueInfo, span: TextSpan, spans: GraphSpans | undefined): void {
  if (spans?.values.has(name) === false) spans.values.set(name, span);
}

/** The values of an initializer, after its `=`. */
function readTensor(reading: TextReading, info: OnnxValueInfo, typeSpan: TextSpan, stored: Stored): void {
  const { tensor, sparse } = reading.tensor(info, typeSpan);
  (sparse ? stored.sparseInitializers : stored.initializers).push(tensor);
}

/** After a signature that cannot be read: goes on at the brace that ends its line, where the nodes are. */
function skipToNodes(reading: TextReading): void {
  const { cursor } = reading;
  const { problem, depth } = cursor;
  if (problem === undefined) return;
  nodesBrace.lastIndex = problem.span.start;
  const brace = nodesBrace.exec(cursor.text);
  if (brace === null) return;
  reading.report();
  cursor.resume(brace.index, depth);
}

/** The brace before the nodes: the last thing on its line. */
const nodesBrace = /\{(?=[ \t]*(?:#[^\n]*)?\r?\n)/g;
