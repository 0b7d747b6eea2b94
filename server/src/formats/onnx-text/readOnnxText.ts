/**
 * Reads ONNX's own textual syntax (ONNX docs/Syntax.md, as the reference parser of 1.23 takes it) into the tree of a
 * binary model, with the place of every node beside it.
 *
 * Two things are added, as our printer writes them: `{...}` and a list that ends in `...` stand for values that are
 * not shown, and every name may be quoted, operators and attributes too. A domain may hold what no identifier does.
 */

import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { Payload } from '../onnx/payload.ts';
import { leavesFolder, outsideFolder } from '../onnx/readTensor.ts';
import type { OnnxFunction, OnnxGraph, OnnxModel, OnnxNode, OnnxValueInfo } from '../onnx/syntax.ts';
import { type InnerReading, noAttributes, readAttributes, readAttributeValue } from './readAttributes.ts';
import { readEntries } from './readEntries.ts';
import { functionKeys, modelKeys, readHeader } from './readHeader.ts';
import { readTensorContent, readType, typeIsNext, unknownType } from './readType.ts';
import { TextCursor, type TextProblem } from './textCursor.ts';

export interface ReadOnnxText {
  /** Absent where the text has errors, which `issues` then holds. */
  readonly model: OnnxModel | undefined;
  /** What of a text with errors could be read: the nodes that are right, which may read values of those that are not. */
  readonly partial: OnnxModel | undefined;
  readonly issues: readonly Issue[];
  readonly spans: OnnxTextSpans;
}

/** Where the parts of the text are; what was read before an error is here too. */
export interface OnnxTextSpans {
  /** Of top-level node i. */
  readonly nodes: readonly NodeSpans[];
  /** Declarations of the model's inputs, outputs and initializers, by name. */
  readonly values: ReadonlyMap<string, TextSpan>;
  /** Parts that can be folded, in order. */
  readonly sections: readonly SectionSpan[];
}

export interface NodeSpans {
  /** From the name's bracket to the last parenthesis. */
  readonly whole: TextSpan;
  /** Inside the brackets; absent for a node without name. */
  readonly name?: TextSpan;
  readonly outputs: TextSpan;
  /** The operator with its domain. */
  readonly type: TextSpan;
}

export interface SectionSpan {
  readonly kind: 'header' | 'inputs' | 'outputs' | 'initializers' | 'nodes' | 'function';
  readonly span: TextSpan;
}

/** The contents of all tensors that are written out go to `payloads` where it is given: to convert, they are needed. */
export function readOnnxText(text: string, payloads?: Map<TensorLiteral, Payload>): ReadOnnxText {
  const reader = new OnnxTextReader(text, payloads);
  const read = reader.model();
  const { nodes, values, sections, issues } = reader;
  const wrong = issues.some((issue) => issue.severity === 'error');
  const partial = wrong && nodes.length > 0 ? read : undefined;
  return { model: wrong ? undefined : read, partial, issues, spans: { nodes, values, sections } };
}

/** A text that is wrong in more places than this is no better understood by a longer list. */
const mostErrors = 20;

/** The line break before a line that begins like a node, or ends the nodes. */
const nodeLine = /\n(?=[ \t]*(?:\[|\}|(?:[A-Za-z_"][^\n=<>{}()]*)?=[ \t]*[A-Za-z_]))/g;

/** The brace before the nodes: the last thing on its line. */
const nodesBrace = /\{(?=[ \t]*(?:#[^\n]*)?\r?\n)/g;

const hints = {
  signature: 'a graph is written `name (float[N,3] x) => (float[N,4] y) { nodes }`',
  stored: 'weights are written `<float[3,4] w = {...}, float[N] hidden>`',
  node: 'a node is written `y = Conv <strides = [2, 2]> (x, w)`, its name as `[name]` before it',
  function: 'a function is written `<domain: "d", opset_import: ["" : 21]> f <a> (x) => (y) { nodes }`',
} as const;

class OnnxTextReader {
  readonly issues: Issue[] = [];
  readonly nodes: NodeSpans[] = [];
  readonly values = new Map<string, TextSpan>();
  readonly sections: SectionSpan[] = [];
  readonly #cursor: TextCursor;
  readonly #inner: InnerReading;
  readonly #payloads: Map<TensorLiteral, Payload> | undefined;
  #reported: TextProblem | undefined;
  #errors = 0;
  readonly #outside = new Set<string>();

  constructor(text: string, payloads: Map<TensorLiteral, Payload> | undefined) {
    this.#payloads = payloads;
    this.#cursor = new TextCursor(text);
    this.#inner = {
      cursor: this.#cursor,
      graph: () => this.#graph('inside'),
      tensor: (info, typeSpan) => this.#tensor(info, typeSpan),
    };
  }

  model(): OnnxModel | undefined {
    const cursor = this.#cursor;
    if (cursor.atEnd()) {
      this.issues.push({
        code: 'file/empty',
        severity: 'error',
        message:
          'The text holds no model: write `<ir_version: 10, opset_import: ["" : 21]> name (inputs) => (outputs) { nodes }`',
        span: { start: 0, end: cursor.text.length },
      });
      return undefined;
    }
    const start = cursor.next();
    const header = readHeader(cursor, modelKeys, () => this.#report());
    if (cursor.tokenEnd > start)
      this.sections.push({ kind: 'header', span: { start, end: cursor.tokenEnd } });
    const graph = this.#graph('top');
    const docString = header.texts.get('doc_string') ?? '';
    const functions: OnnxFunction[] = [];
    while (!cursor.atEnd()) functions.push(this.#function());
    this.#report();
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

  #function(): OnnxFunction {
    const cursor = this.#cursor;
    const start = cursor.next();
    cursor.hint = hints.function;
    const header = readHeader(cursor, functionKeys);
    const name = cursor.name('the name of a function');
    const attributes: string[] = [];
    const defaults = new Map<string, Attribute<OnnxGraph>>();
    if (cursor.matches('<')) {
      do {
        const attribute = cursor.name('the name of an attribute');
        const next = cursor.peek();
        if (next === ':' || next === '=') defaults.set(attribute, readAttributeValue(this.#inner));
        else attributes.push(attribute);
      } while (cursor.matches(','));
      cursor.expect('>');
    }
    const valueInfos: OnnxValueInfo[] = [];
    const inputs = this.#functionValues(valueInfos);
    cursor.expect('=>');
    const outputs = this.#functionValues(valueInfos);
    if (cursor.matches('<') && !cursor.matches('>')) {
      do valueInfos.push(this.#valueInfo().info);
      while (cursor.matches(','));
      cursor.expect('>');
    }
    const nodes = this.#nodes(undefined);
    this.sections.push({ kind: 'function', span: { start, end: cursor.tokenEnd } });
    return {
      name,
      domain: header.texts.get('domain') ?? '',
      overload: header.texts.get('overload') ?? '',
      inputs,
      outputs,
      attributes,
      defaults,
      operatorSets: header.operatorSets,
      nodes,
      valueInfos,
    };
  }

  /** Names with or without types; a type goes to `valueInfos`. */
  #functionValues(valueInfos: OnnxValueInfo[]): readonly string[] {
    const cursor = this.#cursor;
    const names: string[] = [];
    cursor.expect('(');
    if (cursor.matches(')')) return names;
    do {
      const { info } = this.#valueInfo();
      names.push(info.name);
      if (info.type !== undefined) valueInfos.push(info);
    } while (cursor.matches(','));
    cursor.expect(')');
    return names;
  }

  /** The graph of the model, whose parts have a place each, or one inside a node. */
  #graph(where: 'top' | 'inside'): OnnxGraph {
    const cursor = this.#cursor;
    const values = where === 'top' ? this.values : undefined;
    const section = (kind: SectionSpan['kind'], start: number): void => {
      if (values !== undefined) this.sections.push({ kind, span: { start, end: cursor.tokenEnd } });
    };
    const outer = cursor.hint;
    cursor.hint = hints.signature;
    const initializers: TensorLiteral[] = [];
    const sparseInitializers: TensorLiteral[] = [];
    const valueInfos: OnnxValueInfo[] = [];
    const inputs: OnnxValueInfo[] = [];
    const outputs: OnnxValueInfo[] = [];
    const stored = { initializers, sparseInitializers };
    let start = cursor.next();
    const name = cursor.name('the name of a graph');
    const report = where === 'top' ? () => this.#report() : undefined;
    const entries = (close: ')' | '>', read: () => void): void => readEntries(cursor, close, read, report);
    if (cursor.matches('(') && !cursor.matches(')')) {
      entries(')', () => {
        const { info, span, typeSpan } = this.#valueInfo();
        if (cursor.matchesAssignment()) this.#stored(info, typeSpan, stored);
        if (cursor.failed) return;
        inputs.push(info);
        values?.set(info.name, span);
      });
    }
    section('inputs', start);
    cursor.expect('=>');
    start = cursor.next();
    cursor.expect('(');
    if (!cursor.failed && !cursor.matches(')')) {
      entries(')', () => {
        const { info, span } = this.#valueInfo();
        if (cursor.failed) return;
        outputs.push(info);
        if (values?.has(info.name) === false) values.set(info.name, span);
      });
    }
    section('outputs', start);
    cursor.hint = hints.stored;
    start = cursor.next();
    if (cursor.matches('<')) {
      if (!cursor.matches('>')) {
        entries('>', () => {
          const { info, span, typeSpan } = this.#valueInfo();
          if (!cursor.matchesAssignment()) {
            if (!cursor.failed) valueInfos.push(info);
            return;
          }
          if (values?.has(info.name) === false) values.set(info.name, span);
          this.#stored(info, typeSpan, stored);
        });
      }
      section('initializers', start);
    }
    cursor.hint = hints.signature;
    if (where === 'top') this.#skipToNodes();
    start = cursor.next();
    const nodes = this.#nodes(where === 'top' ? this.nodes : undefined);
    section('nodes', start);
    cursor.hint = outer;
    return { name, nodes, inputs, outputs, valueInfos, initializers, sparseInitializers };
  }

  /** After a signature that cannot be read: goes on at the brace that ends its line, where the nodes are. */
  #skipToNodes(): void {
    const cursor = this.#cursor;
    const { problem, depth } = cursor;
    if (problem === undefined) return;
    nodesBrace.lastIndex = problem.span.start;
    const brace = nodesBrace.exec(cursor.text);
    if (brace === null) return;
    this.#report();
    cursor.resume(brace.index, depth);
  }

  #valueInfo(): { readonly info: OnnxValueInfo; readonly span: TextSpan; readonly typeSpan: TextSpan } {
    const cursor = this.#cursor;
    const typeStart = cursor.next();
    const type = typeIsNext(cursor) ? readType(cursor) : undefined;
    const typeSpan = { start: typeStart, end: Math.max(typeStart, cursor.tokenEnd) };
    const start = cursor.next();
    const name = cursor.name('the name of a value');
    const span = { start, end: cursor.tokenEnd };
    if (type === undefined && !cursor.failed) this.#refuseUnknownType(span);
    return { info: { name, type }, span, typeSpan };
  }

  /** What stands where a value's name would, and is followed by a shape or by a name on its line, was meant as a type. */
  #refuseUnknownType(span: TextSpan): void {
    const cursor = this.#cursor;
    const next = cursor.peek();
    const sameLine = !cursor.text.slice(span.end, cursor.position).includes('\n');
    if (next !== '[' && !(sameLine && (next === '"' || cursor.peekIdentifier() !== ''))) return;
    const word = cursor.text.slice(span.start, span.end);
    cursor.failWith(unknownType(word), span.start, span.end);
  }

  /** The values of an initializer, after its `=`. */
  #stored(
    info: OnnxValueInfo,
    typeSpan: TextSpan,
    into: { readonly initializers: TensorLiteral[]; readonly sparseInitializers: TensorLiteral[] },
  ): void {
    const { tensor, sparse } = this.#tensor(info, typeSpan);
    (sparse ? into.sparseInitializers : into.initializers).push(tensor);
  }

  #tensor({ name, type }: OnnxValueInfo, typeSpan: TextSpan): ReturnType<typeof readTensorContent> {
    const read = readTensorContent(this.#cursor, name, type, typeSpan, this.#payloads);
    const path = read.tensor.external?.path;
    if (path !== undefined && leavesFolder(path) && !this.#outside.has(path)) {
      this.#outside.add(path);
      this.issues.push({
        ...outsideFolder(name, path),
        span: { start: typeSpan.start, end: this.#cursor.tokenEnd },
      });
    }
    return read;
  }

  #nodes(spans: NodeSpans[] | undefined): readonly OnnxNode[] {
    const cursor = this.#cursor;
    const nodes: OnnxNode[] = [];
    cursor.expect('{');
    if (!cursor.enter()) return nodes;
    const outer = cursor.hint;
    cursor.hint = hints.node;
    const { depth } = cursor;
    let cascading = false;
    while (!cursor.failed && !cursor.matches('}')) {
      const { node, place } = this.#node();
      if (!cursor.failed) {
        nodes.push(node);
        spans?.push(place);
        cascading = false;
      } else if (spans !== undefined) {
        this.#recover(depth, cascading);
        cascading = true;
      }
    }
    cursor.hint = outer;
    cursor.leave();
    return nodes;
  }

  /**
   * After a wrong node of the top graph: reports it, unless the node before it was wrong too and is the likely cause,
   * and goes on at the next line that begins like a node.
   */
  #recover(depth: number, cascading: boolean): void {
    const cursor = this.#cursor;
    const { problem } = cursor;
    if (problem === undefined || this.#errors >= mostErrors) return;
    nodeLine.lastIndex = problem.span.start;
    const next = nodeLine.exec(cursor.text);
    if (!cascading) this.#report();
    if (next === null) return;
    cursor.resume(next.index + 1, depth);
    cursor.hint = hints.node;
  }

  /** Adds the problem of the cursor, once. */
  #report(): void {
    const { problem } = this.#cursor;
    if (problem === undefined || this.#reported === problem || this.#errors >= mostErrors) return;
    this.#reported = problem;
    this.#errors += 1;
    this.issues.push({ code: 'onnx/text-syntax', severity: 'error', ...problem });
  }

  #node(): { readonly node: OnnxNode; readonly place: NodeSpans } {
    const cursor = this.#cursor;
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
    const outputs = this.#names();
    const outputsSpan = { start: outputsStart, end: Math.max(outputsStart, cursor.tokenEnd) };
    cursor.expect('=');
    const typeStart = cursor.next();
    const path = [cursor.qualifiedPart('an operator')];
    while (cursor.matches('.')) path.push(cursor.qualifiedPart('an operator'));
    const typeSpan = { start: typeStart, end: cursor.tokenEnd };
    const overload = cursor.matches(':') ? cursor.qualifiedPart('the overload of a function') : '';
    let attributes = readAttributes(this.#inner);
    cursor.expect('(');
    const inputs = this.#names();
    cursor.expect(')');
    if (attributes === noAttributes) attributes = readAttributes(this.#inner);
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

  /** Names by commas. Nothing before a comma is an empty name, nothing after the last one is none. */
  #names(): readonly string[] {
    const cursor = this.#cursor;
    const names: string[] = [];
    do {
      const name = cursor.optionalName();
      if (name !== undefined) names.push(name);
      else if (cursor.peek() === ',') names.push('');
      else break;
    } while (cursor.matches(','));
    return names;
  }
}

const noMetadata: ReadonlyMap<string, string> = new Map();
