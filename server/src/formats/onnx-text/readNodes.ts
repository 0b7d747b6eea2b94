/** Reads nodes in braces; of the top graph those that are right, whatever stands between them. */

import type { TextSpan } from '../../model/issue.ts';
import type { OnnxNode } from '../onnx/syntax.ts';
import { noAttributes, readAttributes } from './readAttributes.ts';
import type { TextCursor } from './textCursor.ts';
import type { TextReading } from './textReading.ts';
import type { NodeSpans } from './textSpans.ts';

const hint = 'a node is written `y = Conv <strides = [2, 2]> (x, w)`, its name as `[name]` before it';

/** Where `spans` is given, it receives where each node is, and reading goes on behind a node that is wrong. */
export function readNodes(reading: TextReading, spans?: NodeSpans[]): readonly OnnxNode[] {
  const { cursor } = reading;
  const nodes: OnnxNode[] = [];
  cursor.expect('{');
  if (!cursor.enter()) return nodes;
  const outer = cursor.hint;
  cursor.hint = hint;
  const { depth } = cursor;
  let isCascading = false;
  while (!cursor.failed && !cursor.matches('}')) {
    const { node, place } = readNode(reading);
    if (!cursor.failed) {
      nodes.push(node);
      spans?.push(place);
      isCascading = false;
    } else if (spans !== undefined) {
      recover(reading, depth, isCascading);
      isCascading = true;
    }
  }
  cursor.hint = outer;
  cursor.leave();
  return nodes;
}

/**
 * After a wrong node: reports it, unless the node before it was wrong too and is the likely cause, and goes on at the next
 * line that begins like a node.
 */
function recover(reading: TextReading, depth: number, isCascading: boolean): void {
  const { cursor } = reading;
  const { problem } = cursor;
  if (problem === undefined || reading.isFull) return;
  nodeLine.lastIndex = problem.span.start;
  const next = nodeLine.exec(cursor.text);
  if (!isCascading) reading.report();
  if (next === null) return;
  cursor.resume(next.index + 1, depth);
  cursor.hint = hint;
}

/** The line break before a line that begins like a node, or ends the nodes. */
const nodeLine = /\n(?=[ \t]*(?:\[|\}|(?:[A-Za-z_"][^\n=<>{}()]*)?=[ \t]*[A-Za-z_]))/g;

function readNode(reading: TextReading): { readonly node: OnnxNode; readonly place: NodeSpans } {
  const { cursor } = reading;
  const start = cursor.next();
  let name = '';
  let nameSpan: TextSpan | undefined;
  if (cursor.matches('[')) {
    const nameStart = cursor.next();
    const found = cursor.optionalName();
    if (found !== undefined) {
      name = found;
      nameSpan = { start: nameStart, end: cursor.tokenEnd };
    }
    cursor.expect(']');
  }
  const outputsStart = cursor.next();
  const outputs = readNames(cursor);
  const outputsSpan = { start: outputsStart, end: Math.max(outputsStart, cursor.tokenEnd) };
  cursor.expect('=');
  const typeStart = cursor.next();
  const path = [cursor.qualifiedPart('an operator')];
  while (cursor.matches('.')) path.push(cursor.qualifiedPart('an operator'));
  const typeSpan = { start: typeStart, end: cursor.tokenEnd };
  const overload = cursor.matches(':') ? cursor.qualifiedPart('the overload of a function') : '';
  let attributes = readAttributes(reading);
  cursor.expect('(');
  const inputs = readNames(cursor);
  cursor.expect(')');
  if (attributes === noAttributes) attributes = readAttributes(reading);
  const place = { whole: { start, end: cursor.tokenEnd }, outputs: outputsSpan, type: typeSpan };
  return {
    node: {
      name,
      type: path.at(-1) ?? '',
      domain: path.slice(0, -1).join('.'),
      overload,
      inputs,
      outputs,
      attributes,
      metadata: noMetadata,
    },
    place: nameSpan === undefined ? place : { ...place, name: nameSpan },
  };
}

const noMetadata: ReadonlyMap<string, string> = new Map();

/** Names by commas. Nothing before a comma is an empty name, nothing after the last one is none. */
function readNames(cursor: TextCursor): readonly string[] {
  const names: string[] = [];
  do {
    const name = cursor.optionalName();
    if (name !== undefined) names.push(name);
    else if (cursor.peek() === ',') names.push('');
    else break;
  } while (cursor.matches(','));
  return names;
}
