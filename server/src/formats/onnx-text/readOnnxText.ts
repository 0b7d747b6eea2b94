/**
 * Reads ONNX's own textual syntax (ONNX docs/Syntax.md, as the reference parser of 1.23 takes it) into the tree of a
 * binary model, with the place of every node beside it.
 *
 * Two things are added, as our printer writes them: `{...}` and a list that ends in `...` stand for values that are
 * not shown, and every name may be quoted, operators and attributes too. A domain may hold what no identifier does.
 */

import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import { attributeTypes } from '../onnx/fields.ts';
import { leavesFolder, outsideFolder } from '../onnx/readTensor.ts';
import type { OnnxFunction, OnnxGraph, OnnxModel, OnnxNode, OnnxValueInfo } from '../onnx/syntax.ts';
import { printType } from './printType.ts';
import { readPairs, readTensorContent, readType, typeIsNext } from './readType.ts';
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

export function readOnnxText(text: string): ReadOnnxText {
  const reader = new OnnxTextReader(text);
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

type OperatorSets = OnnxModel['operatorSets'];

const hints = {
  header: 'a header is written `<ir_version: 10, opset_import: ["" : 21]>`',
  signature: 'a graph is written `name (float[N,3] x) => (float[N,4] y) { nodes }`',
  stored: 'weights are written `<float[3,4] w = {...}, float[N] hidden>`',
  node: 'a node is written `y = Conv <strides = [2, 2]> (x, w)`, its name as `[name]` before it',
  attribute: 'an attribute is written `name = value` or `name: type = value`',
  function: 'a function is written `<domain: "d", opset_import: ["" : 21]> f <a> (x) => (y) { nodes }`',
} as const;

class OnnxTextReader {
  readonly issues: Issue[] = [];
  readonly nodes: NodeSpans[] = [];
  readonly values = new Map<string, TextSpan>();
  readonly sections: SectionSpan[] = [];
  readonly #cursor: TextCursor;
  #reported: TextProblem | undefined;
  #errors = 0;
  readonly #outside = new Set<string>();

  constructor(text: string) {
    this.#cursor = new TextCursor(text);
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
    const header = this.#header(modelKeys, 'header');
    const graph = this.#graph('top');
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
    };
  }

  #function(): OnnxFunction {
    const cursor = this.#cursor;
    const start = cursor.next();
    cursor.hint = hints.function;
    const header = this.#header(functionKeys, undefined);
    const name = cursor.name('the name of a function');
    const attributes: string[] = [];
    const defaults = new Map<string, Attribute<OnnxGraph>>();
    if (cursor.matches('<')) {
      do {
        const attribute = cursor.name('the name of an attribute');
        const next = cursor.peek();
        if (next === ':' || next === '=') defaults.set(attribute, this.#attributeValue());
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

  /** `<key: value, …>` before a model or a function, where there is one. */
  #header(keys: ReadonlyMap<string, HeaderKind>, section: SectionSpan['kind'] | undefined): Header {
    const cursor = this.#cursor;
    const start = cursor.next();
    const header: Header = { texts: new Map(), numbers: new Map(), metadata: new Map(), operatorSets: [] };
    if (!cursor.matches('<')) return header;
    const outer = cursor.hint;
    if (section === 'header') cursor.hint = hints.header;
    do {
      const keyStart = cursor.next();
      const key = cursor.identifier('a key of the header');
      const kind = keys.get(key);
      if (kind === undefined && !cursor.failed) {
        cursor.failWith(
          `\`${key}\` is no key of a header: write one of ${[...keys.keys()].join(', ')}`,
          keyStart,
          keyStart + key.length,
        );
      }
      cursor.expect(':');
      if (kind === 'integer') header.numbers.set(key, cursor.integer());
      else if (kind === 'text') header.texts.set(key, cursor.string());
      else if (kind === 'pairs') this.#pairs(header.metadata);
      else this.#operatorSets(header);
    } while (cursor.matches(','));
    cursor.expect('>');
    if (section !== undefined) this.sections.push({ kind: section, span: { start, end: cursor.tokenEnd } });
    cursor.hint = outer;
    return header;
  }

  #operatorSets(header: Header): void {
    const cursor = this.#cursor;
    cursor.expect('[');
    if (cursor.matches(']')) return;
    do {
      const domain = cursor.string();
      cursor.expect(':');
      header.operatorSets.push({ domain, version: cursor.integer('the version of an operator set') });
    } while (cursor.matches(','));
    cursor.expect(']');
  }

  #pairs(into: Map<string, string>): void {
    const cursor = this.#cursor;
    cursor.expect('[');
    if (!cursor.matches(']')) readPairs(cursor, into);
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
    if (cursor.matches('(') && !cursor.matches(')')) {
      do {
        const { info, span, typeSpan } = this.#valueInfo();
        inputs.push(info);
        values?.set(info.name, span);
        if (cursor.matches('=')) this.#stored(info, typeSpan, stored);
      } while (cursor.matches(','));
      cursor.expect(')');
    }
    section('inputs', start);
    cursor.expect('=>');
    start = cursor.next();
    cursor.expect('(');
    if (!cursor.matches(')')) {
      do {
        const { info, span } = this.#valueInfo();
        outputs.push(info);
        if (values?.has(info.name) === false) values.set(info.name, span);
      } while (cursor.matches(','));
      cursor.expect(')');
    }
    section('outputs', start);
    cursor.hint = hints.stored;
    start = cursor.next();
    if (cursor.matches('<')) {
      if (!cursor.matches('>')) {
        do {
          const { info, span, typeSpan } = this.#valueInfo();
          if (!cursor.matches('=')) {
            valueInfos.push(info);
            continue;
          }
          if (values?.has(info.name) === false) values.set(info.name, span);
          this.#stored(info, typeSpan, stored);
        } while (cursor.matches(','));
        cursor.expect('>');
      }
      section('initializers', start);
    }
    cursor.hint = hints.signature;
    start = cursor.next();
    const nodes = this.#nodes(where === 'top' ? this.nodes : undefined);
    section('nodes', start);
    cursor.hint = outer;
    return { name, nodes, inputs, outputs, valueInfos, initializers, sparseInitializers };
  }

  #valueInfo(): { readonly info: OnnxValueInfo; readonly span: TextSpan; readonly typeSpan: TextSpan } {
    const cursor = this.#cursor;
    const typeStart = cursor.next();
    const type = typeIsNext(cursor) ? readType(cursor) : undefined;
    const typeSpan = { start: typeStart, end: Math.max(typeStart, cursor.tokenEnd) };
    const start = cursor.next();
    const name = cursor.name('the name of a value');
    return { info: { name, type }, span: { start, end: cursor.tokenEnd }, typeSpan };
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
    const read = readTensorContent(this.#cursor, name, type, typeSpan);
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
    let attributes = this.#attributes();
    cursor.expect('(');
    const inputs = this.#names();
    cursor.expect(')');
    if (attributes === noAttributes) attributes = this.#attributes();
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

  #attributes(): ReadonlyMap<string, Attribute<OnnxGraph>> {
    const cursor = this.#cursor;
    if (!cursor.matches('<')) return noAttributes;
    const outer = cursor.hint;
    cursor.hint = hints.attribute;
    const attributes = new Map<string, Attribute<OnnxGraph>>();
    do {
      const name = cursor.name('the name of an attribute');
      attributes.set(name, this.#attributeValue());
    } while (cursor.matches(','));
    cursor.expect('>');
    cursor.hint = outer;
    return attributes;
  }

  /** What follows an attribute's name: its type, where it is given, and its value. */
  #attributeValue(): Attribute<OnnxGraph> {
    const cursor = this.#cursor;
    let type: string | undefined;
    if (cursor.matches(':')) {
      const start = cursor.next();
      type = cursor.identifier('the type of an attribute');
      if (!attributeTypeNames.has(type)) {
        cursor.failWith(
          `\`${type}\` is no type of an attribute: write one of ${[...attributeTypeNames].join(', ')}`,
          start,
          start + type.length,
        );
      }
    }
    cursor.expect('=');
    const start = cursor.next();
    if (cursor.matches('{')) {
      cursor.expect('...');
      cursor.expect('}');
      return { kind: 'other', value: type ?? 'a value that is not shown' };
    }
    if (cursor.matches('[')) return this.#attributeList(type, start);
    return this.#fitting(this.#singleValue(type), type, start);
  }

  /** A list, after its bracket. Its type is that of its entries, where none is given. */
  #attributeList(type: string | undefined, start: number): Attribute<OnnxGraph> {
    const cursor = this.#cursor;
    const entryType = type?.replace(/s$/, '');
    if (cursor.matches(']')) {
      if (type === undefined || entryType === type) {
        const what = type === undefined ? 'an empty list needs a type' : `an empty list is no \`${type}\``;
        cursor.failWith(`${what}: write \`name: ints = []\``, start, cursor.tokenEnd);
      }
      return listOf(entryType ?? '', []);
    }
    const entries: Attribute<OnnxGraph>[] = [];
    let expected = entryType;
    do {
      if (cursor.matches('...')) {
        cursor.expect(']');
        return { kind: 'other', value: `${type ?? 'a list'}, ${entries.length} of them shown` };
      }
      const entryStart = cursor.next();
      const entry = this.#fitting(this.#singleValue(expected), expected, entryStart);
      if (entry.kind === 'reference') {
        cursor.failWith(
          'a list holds no references: refer to a whole list with `name = @other`',
          entryStart,
          cursor.tokenEnd,
        );
      }
      expected ??= kindOf(entry);
      entries.push(entry);
    } while (cursor.matches(','));
    cursor.expect(']');
    return listOf(expected ?? '', entries);
  }

  #singleValue(type: string | undefined): Attribute<OnnxGraph> {
    const cursor = this.#cursor;
    const start = cursor.next();
    if (cursor.matches('@')) {
      const value = cursor.name('the name of an attribute');
      return type === undefined ? { kind: 'reference', value } : { kind: 'reference', value, type };
    }
    if (cursor.peek() === '"' && type !== 'graph') return { kind: 'string', value: cursor.string() };
    if (typeIsNext(cursor)) return this.#typeOrTensor(start);
    const literal = cursor.optionalNumber();
    if (literal?.kind === 'int') return { kind: 'int', value: literal.value };
    if (literal?.kind === 'float') return { kind: 'float', value: Math.fround(literal.value) };
    if (cursor.peekIdentifier() !== '' || cursor.peek() === '"') {
      if (!cursor.enter()) return { kind: 'other', value: 'graph' };
      const value = this.#graph('inside');
      cursor.leave();
      return { kind: 'graph', value };
    }
    cursor.fail('a value');
    return { kind: 'int', value: 0 };
  }

  /** A type is a tensor where values or a name follow it. */
  #typeOrTensor(start: number): Attribute<OnnxGraph> {
    const cursor = this.#cursor;
    const type = readType(cursor);
    const typeSpan = { start, end: Math.max(start, cursor.tokenEnd) };
    const next = cursor.peek();
    if (next !== '{' && next !== '=' && next !== '[' && next !== '"' && cursor.peekIdentifier() === '') {
      return { kind: 'other', value: `type_proto = ${printType(type)}` };
    }
    const name = cursor.optionalName() ?? '';
    cursor.matches('=');
    const { tensor, sparse } = this.#tensor({ name, type }, typeSpan);
    return sparse ? { kind: 'other', value: 'sparse_tensor' } : { kind: 'tensor', value: tensor };
  }

  /** The value as the type it was given: an integer is a float where one is asked for, nothing else is changed. */
  #fitting(value: Attribute<OnnxGraph>, type: string | undefined, start: number): Attribute<OnnxGraph> {
    const kind = kindOf(value);
    if (type === undefined || kind === type || value.kind === 'reference') return value;
    if (type === 'float' && value.kind === 'int') return { kind: 'float', value: Math.fround(value.value) };
    this.#cursor.failWith(
      `the attribute has type \`${type}\`, its value is of type \`${kind}\`: change one of them`,
      start,
      Math.max(start, this.#cursor.tokenEnd),
    );
    return value;
  }
}

interface Header {
  readonly texts: Map<string, string>;
  readonly numbers: Map<string, number>;
  readonly metadata: Map<string, string>;
  readonly operatorSets: OperatorSets[number][];
}

type HeaderKind = 'integer' | 'text' | 'pairs' | 'operator sets';

const modelKeys: ReadonlyMap<string, HeaderKind> = new Map([
  ['ir_version', 'integer'],
  ['opset_import', 'operator sets'],
  ['producer_name', 'text'],
  ['producer_version', 'text'],
  ['domain', 'text'],
  ['model_version', 'integer'],
  ['doc_string', 'text'],
  ['metadata_props', 'pairs'],
]);

const functionKeys: ReadonlyMap<string, HeaderKind> = new Map([
  ['opset_import', 'operator sets'],
  ['domain', 'text'],
  ['overload', 'text'],
  ['doc_string', 'text'],
  ['metadata_props', 'pairs'],
]);

const attributeTypeNames: ReadonlySet<string> = new Set(Object.values(attributeTypes));

const noAttributes: ReadonlyMap<string, Attribute<OnnxGraph>> = new Map();
const noMetadata: ReadonlyMap<string, string> = new Map();

/** The type that ONNX text has for a value. */
function kindOf(value: Attribute<OnnxGraph>): string {
  if (value.kind !== 'other') return value.kind;
  return value.value.startsWith('type_proto') ? 'type_proto' : value.value;
}

function listOf(entryType: string, entries: readonly Attribute<OnnxGraph>[]): Attribute<OnnxGraph> {
  switch (entryType) {
    case 'int':
      return { kind: 'ints', value: entries.flatMap((entry) => (entry.kind === 'int' ? [entry.value] : [])) };
    case 'float':
      return {
        kind: 'floats',
        value: entries.flatMap((entry) => (entry.kind === 'float' ? [entry.value] : [])),
      };
    case 'string':
      return {
        kind: 'strings',
        value: entries.flatMap((entry) => (entry.kind === 'string' ? [entry.value] : [])),
      };
    case 'tensor':
      return {
        kind: 'tensors',
        value: entries.flatMap((entry) => (entry.kind === 'tensor' ? [entry.value] : [])),
      };
    case 'graph':
      return {
        kind: 'graphs',
        value: entries.flatMap((entry) => (entry.kind === 'graph' ? [entry.value] : [])),
      };
    default:
      return { kind: 'other', value: `${entryType}s` };
  }
}
