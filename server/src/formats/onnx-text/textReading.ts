/** An ONNX text while it is read: the place in it, and what is wrong with it. */

import type { TensorLiteral } from '../../model/attribute.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { Payload } from '../onnx/payload.ts';
import { leavesFolder, outsideFolder } from '../onnx/readTensor.ts';
import type { OnnxGraph, OnnxValueInfo } from '../onnx/syntax.ts';
import type { InnerReading } from './readAttributes.ts';
import { readTensorContent } from './readType.ts';
import { TextCursor, type TextProblem } from './textCursor.ts';

/** A text that is wrong in more places than this is no better understood by a longer list. */
const mostErrors = 20;

export class TextReading implements InnerReading {
  readonly cursor: TextCursor;
  readonly issues: Issue[] = [];
  readonly #payloads: Map<TensorLiteral, Payload> | undefined;
  readonly #readGraph: (reading: TextReading) => OnnxGraph;
  readonly #outside = new Set<string>();
  #reported: TextProblem | undefined;
  #errors = 0;

  /** Contents of tensors go to `payloads` where it is given; `readGraph` reads what stands inside a node. */
  constructor(
    text: string,
    payloads: Map<TensorLiteral, Payload> | undefined,
    readGraph: (reading: TextReading) => OnnxGraph,
  ) {
    this.cursor = new TextCursor(text);
    this.#payloads = payloads;
    this.#readGraph = readGraph;
  }

  /** A graph inside a node. */
  graph(): OnnxGraph {
    return this.#readGraph(this);
  }

  /** The values of a tensor, after its `=`. */
  tensor({ name, type }: OnnxValueInfo, typeSpan: TextSpan): ReturnType<typeof readTensorContent> {
    const read = readTensorContent(this.cursor, name, type, typeSpan, this.#payloads);
    const path = read.tensor.external?.path;
    if (path !== undefined && leavesFolder(path) && !this.#outside.has(path)) {
      this.#outside.add(path);
      const span = { start: typeSpan.start, end: this.cursor.tokenEnd };
      this.issues.push({ ...outsideFolder(name, path), span });
    }
    return read;
  }

  /** Adds the problem of the cursor, once. */
  report(): void {
    const { problem } = this.cursor;
    if (problem === undefined || this.#reported === problem || this.isFull) return;
    this.#reported = problem;
    this.#errors += 1;
    this.issues.push({ code: 'onnx/text-syntax', severity: 'error', ...problem });
  }

  /** Whether nothing more is reported. */
  get isFull(): boolean {
    return this.#errors >= mostErrors;
  }
}
