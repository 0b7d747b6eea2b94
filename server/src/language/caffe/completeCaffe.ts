/** Proposals in a Caffe net: fields of the message the cursor is in, and what a field takes. */

import { findMessage, netMessage } from '../../formats/caffe/messages.ts';
import type { FieldSchema, MessageSchema } from '../../formats/caffe/schema.ts';
import type { CaffeNet } from '../../formats/caffe/syntax.ts';
import { caffeLayerEntries } from '../../lowering/caffe/layerDefinitions.ts';
import type { Completion, CompletionKind } from '../completion.ts';

export function completeCaffe(
  source: string,
  offset: number,
  net: CaffeNet | undefined,
): readonly Completion[] {
  const before = source.slice(0, offset);
  const place = placeOf(before);
  if (place === undefined) return [];
  const { message, field, word, isQuoted } = place;
  const start = offset - word.length;
  const propose = (label: string, kind: CompletionKind, detail: string, documentation = ''): Completion => ({
    label,
    kind,
    detail,
    documentation,
    insert: label,
    span: { start, end: offset },
  });
  const quoted = (completion: Completion): Completion =>
    isQuoted ? completion : { ...completion, insert: `"${completion.label}"` };
  if (field === undefined) {
    return [...message.fields.values()].map((each) => ({
      ...propose(each.name, 'argument', detailOf(each), each.documentation),
      insert: each.type.kind === 'message' ? `${each.name} {` : `${each.name}: `,
    }));
  }
  if (field.name === 'type' && message.name === 'LayerParameter') {
    return caffeLayerEntries.flatMap(({ type, aliases, documentation, source: page }) =>
      [type, ...aliases].map((name) => quoted(propose(name, 'module', page, documentation))),
    );
  }
  if (field.name === 'bottom') {
    const tops = (net?.layers ?? [])
      .filter(({ span }) => span.end <= offset)
      .flatMap(({ tops: each }) => each);
    const names = [...new Set(tops.map(({ text }) => text).toReversed())];
    return names.map((name) => quoted(propose(name, 'tensor', '')));
  }
  switch (field.type.kind) {
    case 'enum':
      return field.type.values.filter((value) => value !== '').map((value) => propose(value, 'value', ''));
    case 'bool':
      return ['true', 'false'].map((value) =>
        propose(value, 'value', value === String(field.default) ? 'default' : ''),
      );
    default:
      return [];
  }
}

interface Place {
  readonly message: MessageSchema;
  /** The field whose value is being written; absent where a field begins. */
  readonly field: FieldSchema | undefined;
  readonly word: string;
  readonly isQuoted: boolean;
}

/** Where the text before the cursor ends, by its braces; `undefined` in comments and unknown messages. */
function placeOf(before: string): Place | undefined {
  const stack: (MessageSchema | undefined)[] = [findMessage(netMessage)];
  let field = '';
  let isValue = false;
  let last: RegExpExecArray | null = null;
  for (const match of before.matchAll(pattern)) {
    const [text] = match;
    if (text.startsWith('#')) {
      if (match.index + text.length === before.length) return undefined;
      continue;
    }
    last = match;
    if (text === '{') {
      const type = stack.at(-1)?.fields.get(field)?.type;
      stack.push(type?.kind === 'message' ? findMessage(type.message) : undefined);
      isValue = false;
    } else if (text === '}') {
      if (stack.length > 1) stack.pop();
      isValue = false;
    } else if (text === ':') isValue = true;
    else if (isValue) isValue = match.index + text.length === before.length;
    else field = text;
  }
  const message = stack.at(-1);
  if (message === undefined) return undefined;
  const [text = ''] = last ?? [];
  const isAtEnd = last !== null && last.index + text.length === before.length;
  const isWord = isAtEnd && /^[\w"']/.test(text);
  if (isWord && /^["'].*["']$/.test(text) && text.length > 1) return undefined;
  const word = isWord ? text.replace(/^["']/, '') : '';
  if (!isValue) return { message, field: undefined, word, isQuoted: false };
  const known = message.fields.get(field);
  return known === undefined
    ? undefined
    : { message, field: known, word, isQuoted: isWord && /^["']/.test(text) };
}

const pattern = /#[^\n]*|"[^"\n]*"?|'[^'\n]*'?|[\w.+-]+|[{}:]/g;

function detailOf({ type, default: value }: FieldSchema): string {
  const kind =
    type.kind === 'message' ? type.message : type.kind === 'enum' ? type.values.join(' | ') : type.kind;
  return value === undefined ? kind : `${kind} = ${value}`;
}
