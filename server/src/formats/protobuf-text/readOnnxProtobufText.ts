/** Reads an ONNX model written in protobuf's text format (`.textproto`, `.pbtxt`, `.onnx.prototxt`). */

import type { TextSpan } from '../../model/issue.ts';
import { wordsOfOffset } from '../locateIssues.ts';
import type { ReadOnnx } from '../onnx/readOnnx.ts';
import {
  readWrittenModel,
  type WrittenField,
  type WrittenMessage,
  type WrittenPlace,
  type WrittenValue,
} from '../onnx/readWrittenModel.ts';
import { decodeQuoted, measureQuoted } from './decodeQuoted.ts';
import { readProtobufText } from './readProtobufText.ts';
import type { TextMessage, TextValue } from './syntax.ts';

export function readOnnxProtobufText(text: string): ReadOnnx {
  const { message, problem } = readProtobufText(text);
  if (message === undefined) {
    const whole = { start: 0, end: text.length };
    const { message: wrong, span } = problem ?? { message: 'The text cannot be read', span: whole };
    return {
      model: undefined,
      issues: [{ code: 'onnx/text-syntax', severity: 'error', message: wrong, span }],
    };
  }
  return readWrittenModel(new TextMessageView(text, message), ({ span }) =>
    span === undefined ? '' : wordsOfOffset(text, span.start),
  );
}

class TextMessageView implements WrittenMessage {
  readonly #text: string;
  readonly #message: TextMessage;

  constructor(text: string, message: TextMessage) {
    this.#text = text;
    this.#message = message;
  }

  *fields(): Iterable<WrittenField> {
    for (const { name, nameSpan, value } of this.#message.fields) {
      const values = value.kind === 'list' ? value.values : [value];
      yield {
        name,
        values: values.map((each) => new TextValueView(this.#text, each)),
        omitted: value.kind === 'list' ? value.omitted : 0,
        place: placeOf(nameSpan),
      };
    }
  }
}

class TextValueView implements WrittenValue {
  readonly #text: string;
  readonly #value: TextValue;

  constructor(text: string, value: TextValue) {
    this.#text = text;
    this.#value = value;
  }

  get place(): WrittenPlace {
    return placeOf(this.#value.span);
  }

  message(): WrittenMessage | undefined {
    return this.#value.kind === 'message' ? new TextMessageView(this.#text, this.#value.message) : undefined;
  }

  scalar(): string | undefined {
    return this.#value.kind === 'scalar' ? this.#value.text : undefined;
  }

  bytes(): ReturnType<WrittenValue['bytes']> {
    if (this.#value.kind !== 'quoted') return undefined;
    const { pieces } = this.#value;
    return { size: measureQuoted(this.#text, pieces), read: () => decodeQuoted(this.#text, pieces) };
  }
}

/** The span says where; whoever shows the issue turns it into line and column. */
const placeOf = (span: TextSpan): WrittenPlace => ({ span, words: '' });
