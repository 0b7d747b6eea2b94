/**
 * Reads a Caffe net written as protobuf text: `layer { … }`, the older `layers { … }`, and inputs in their three forms.
 *
 * Whatever is wrong is an issue at its place and takes nothing else away: after a syntax error reading goes on at the
 * next layer, and a layer that is not closed ends where the next begins.
 */

import type { Issue, TextSpan } from '../../model/issue.ts';
import { readProtobufText } from '../protobuf-text/readProtobufText.ts';
import type { TextField, TextMessage } from '../protobuf-text/syntax.ts';
import { presentLayerType } from './layerTypes.ts';
import { netMessage } from './messages.ts';
import { type MessageReading, readMessage } from './readMessage.ts';
import {
  type CaffeLayer,
  type CaffeMessage,
  type CaffeNet,
  messagesOf,
  numberOf,
  numbersOf,
  type ParameterSpec,
  textOf,
  wordsOf,
} from './syntax.ts';
import { whatElseItIs } from './whatElseItIs.ts';

export interface ReadCaffeNet {
  /** Absent where the text is no net: the one issue says what it is. */
  readonly net: CaffeNet | undefined;
  readonly issues: readonly Issue[];
}

export function readCaffeNet(text: string): ReadCaffeNet {
  const issues: Issue[] = [];
  const fields = readFields(text, issues);
  const other = whatElseItIs(text, fields);
  if (other !== undefined) return { net: undefined, issues: [...issues, other] };
  const layers: CaffeLayer[] = [];
  const waiting = fields.filter(isLayer);
  const reading: MessageReading = {
    text,
    report: (issue) => issues.push(issue),
    takesStray: () => false,
  };
  const rest = { fields: fields.filter((field) => !isLayer(field)) };
  const net = readMessage(reading, rest, { start: 0, end: text.length }, netMessage);
  // A layer inside a layer waits for its turn right after the one it was found in.
  for (let field = waiting.shift(); field !== undefined; field = waiting.shift()) {
    const strays: TextField[] = [];
    layers.push(readLayer(reading, field, strays));
    waiting.unshift(...strays);
  }
  return { net: { name: textOf(net, 'name') ?? '', fields: net, layers }, issues: withoutEcho(issues) };
}

/** A net has a few slips while it is written; a text with more of them is none. */
const mostRestarts = 20;

function readFields(text: string, issues: Issue[]): readonly TextField[] {
  const fields: TextField[] = [];
  let start = 0;
  for (let restart = 0; restart <= mostRestarts; restart += 1) {
    const { partial, problem } = readProtobufText(text, start);
    fields.push(...partial.fields);
    if (problem === undefined) break;
    issues.push({ code: 'caffe/syntax', severity: 'error', message: problem.message, span: problem.span });
    nextLayer.lastIndex = problem.reached;
    const next = nextLayer.exec(text);
    if (next === null) break;
    start = next.index + 1;
  }
  return fields;
}

const nextLayer = /\n(?=[ \t]*layers?[ \t]*:?[ \t]*\{)/g;

const isLayer = ({ name, value }: TextField): boolean =>
  (name === 'layer' || name === 'layers') && value.kind !== 'quoted' && value.kind !== 'scalar';

function readLayer(outer: MessageReading, field: TextField, strays: TextField[]): CaffeLayer {
  const older = field.name === 'layers';
  const { message, span } = bodyOf(field);
  const reading: MessageReading = {
    ...outer,
    takesStray: (inner) => {
      if (inner.name !== field.name || inner.value.kind !== 'message') return false;
      if (strays.length === 0) {
        outer.report({
          code: 'caffe/syntax',
          severity: 'error',
          message: `This layer has no end: close it with \`}\` before the next \`${field.name}\``,
          span: field.nameSpan,
        });
      }
      strays.push(inner);
      return true;
    },
  };
  const fields = readMessage(reading, message, span, older ? 'V1LayerParameter' : 'LayerParameter');
  const [name] = wordsOf(fields, 'name');
  const [type] = wordsOf(fields, 'type');
  const written = type?.text ?? '';
  return {
    name: name?.text ?? '',
    type: older ? (presentLayerType(written) ?? written) : written,
    bottoms: wordsOf(fields, 'bottom'),
    tops: wordsOf(fields, 'top'),
    fields,
    parameters: older ? olderParameters(fields) : parameters(fields),
    span: { start: field.nameSpan.start, end: strays[0]?.nameSpan.start ?? span.end },
    nameSpan: name?.span ?? field.nameSpan,
    typeSpan: type?.span ?? name?.span ?? field.nameSpan,
  };
}

function bodyOf({ value, nameSpan }: TextField): { readonly message: TextMessage; readonly span: TextSpan } {
  if (value.kind === 'message') return { message: value.message, span: value.span };
  return { message: { fields: [] }, span: nameSpan };
}

function parameters(layer: CaffeMessage): readonly ParameterSpec[] {
  return messagesOf(layer, 'param').map((param) => ({
    name: textOf(param, 'name') ?? '',
    learningRate: numberOf(param, 'lr_mult') ?? 1,
    permissive: textOf(param, 'share_mode') === 'PERMISSIVE',
    span: wordsOf(param, 'name')[0]?.span ?? param.span,
  }));
}

function olderParameters(layer: CaffeMessage): readonly ParameterSpec[] {
  const names = wordsOf(layer, 'param');
  const rates = numbersOf(layer, 'blobs_lr');
  const modes = wordsOf(layer, 'blob_share_mode');
  return Array.from({ length: Math.max(names.length, rates.length) }, (_, index) => ({
    name: names[index]?.text ?? '',
    learningRate: rates[index] ?? 1,
    permissive: modes[index]?.text === 'PERMISSIVE',
    span: names[index]?.span ?? layer.span,
  }));
}

/** A layer that is not closed leaves the whole text without an end: that is said once, where the brace belongs. */
function withoutEcho(issues: readonly Issue[]): readonly Issue[] {
  const said = issues.some(({ message }) => message.startsWith('This layer has no end'));
  return said ? issues.filter(({ message }) => !message.startsWith('A message has no end')) : issues;
}
