/**
 * Reads ONNX's own textual syntax (ONNX docs/Syntax.md, as the reference parser of 1.23 takes it) into the tree of a
 * binary model, with the place of every node beside it.
 *
 * Two things are added, as our printer writes them: `{...}` and a list that ends in `...` stand for values that are
 * not shown, and every name may be quoted, operators and attributes too. A domain may hold what no identifier does.
 */

import type { TensorLiteral } from '../../model/attribute.ts';
import type { Issue } from '../../model/issue.ts';
import type { Payload } from '../onnx/payload.ts';
import type { OnnxFunction, OnnxModel } from '../onnx/syntax.ts';
import { readFunction } from './readFunction.ts';
import { type GraphSpans, readGraph } from './readGraph.ts';
import { modelKeys, readHeader } from './readHeader.ts';
import { TextReading } from './textReading.ts';
import type { OnnxTextSpans } from './textSpans.ts';

export interface ReadOnnxText {
  /** Absent where the text has errors, which `issues` then holds. */
  readonly model: OnnxModel | undefined;
  /** What of a text with errors could be read: the nodes that are right, which may read values of those that are not. */
  readonly partial: OnnxModel | undefined;
  readonly issues: readonly Issue[];
  readonly spans: OnnxTextSpans;
}

/** The contents of all tensors that are written out go to `payloads` where it is given: to convert, they are needed. */
export function readOnnxText(text: string, payloads?: Map<TensorLiteral, Payload>): ReadOnnxText {
  const reading = new TextReading(text, payloads, readGraph);
  const spans: GraphSpans = { nodes: [], values: new Map(), sections: [] };
  const read = readModel(reading, spans);
  const { issues } = reading;
  const isWrong = issues.some((issue) => issue.severity === 'error');
  const partial = isWrong && spans.nodes.length > 0 ? read : undefined;
  return { model: isWrong ? undefined : read, partial, issues, spans };
}

function readModel(reading: TextReading, spans: GraphSpans): OnnxModel | undefined {
  const { cursor } = reading;
  const { sections } = spans;
  if (cursor.atEnd()) {
    reading.issues.push({
      code: 'file/empty',
      severity: 'error',
      message:
        'The text holds no model: write `<ir_version: 10, opset_import: ["" : 21]> name (inputs) => (outputs) { nodes }`',
      span: { start: 0, end: cursor.text.length },
    });
    return undefined;
  }
  const start = cursor.next();
  const header = readHeader(cursor, modelKeys, () => reading.report());
  if (cursor.tokenEnd > start) sections.push({ kind: 'header', span: { start, end: cursor.tokenEnd } });
  const graph = readGraph(reading, spans);
  const docString = header.texts.get('doc_string') ?? '';
  const functions: OnnxFunction[] = [];
  while (!cursor.atEnd()) {
    const first = cursor.next();
    functions.push(readFunction(reading));
    sections.push({ kind: 'function', span: { start: first, end: cursor.tokenEnd } });
  }
  reading.report();
  return {
    irVersion: header.numbers.get('ir_version') ?? 0,
    producerName: header.texts.get('producer_name') ?? '',
    producerVersion: header.texts.get('producer_version') ?? '',
    domain: header.texts.get('domain') ?? '',
    modelVersion: header.numbers.get('model_version') ?? 0,
    operatorSets: header.operatorSets,
    graph,
    functions,
    metadata: header.metadata,
    ...(docString === '' ? {} : { docString }),
  };
}
