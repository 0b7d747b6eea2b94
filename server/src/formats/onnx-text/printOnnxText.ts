/**
 * Prints a model in ONNX's own textual syntax (ONNX docs/Syntax.md), laid out for a person to read in an editor:
 * every input, output and initializer on a line of its own, every node without subgraphs on one line.
 *
 * One thing is added to the syntax: `{...}` stands for values that are not shown, and a comment says how large
 * they are. Where nothing is elided the text is what ONNX's parser accepts.
 */

import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import type { OnnxFunction, OnnxGraph, OnnxModel, OnnxNode, OnnxValueInfo } from '../onnx/syntax.ts';
import { printFloat32, printInteger } from './printNumbers.ts';
import { printTensor, printTensorSize } from './printTensor.ts';
import {
  printDomain,
  printName,
  printQualifiedPart,
  printTensorType,
  printType,
  quote,
  quoteWhole,
} from './printType.ts';
import { TextWriter } from './textWriter.ts';

/** Lines and columns are 0-based, columns in UTF-16 code units, ends exclusive (`lastLine` is inclusive). */
export interface PrintedOnnx {
  readonly text: string;
  /** Line of top-level node i. */
  readonly nodeLines: readonly number[];
  /** Where the parts of top-level node i are. */
  readonly nodes: readonly PrintedNode[];
  readonly inputLines: ReadonlyMap<string, number>;
  readonly outputLines: ReadonlyMap<string, number>;
  readonly initializerLines: ReadonlyMap<string, number>;
  /** Line of the graph's name, where its signature begins. */
  readonly graphLine: number;
  /** Parts that can be folded, in order. */
  readonly sections: readonly PrintedSection[];
  readonly functions: readonly PrintedFunction[];
  /** How many values, lists and texts are not shown in full. 0 means that the text is plain ONNX text. */
  readonly elided: number;
}

export interface PrintedNode {
  /** The first line: the node's name where it has one, else the node itself. */
  readonly line: number;
  /** The line of outputs, operator, attributes and inputs. */
  readonly bodyLine: number;
  /** Differs from `bodyLine` where the node has subgraphs. */
  readonly lastLine: number;
  /** The name inside its brackets; absent for a node without name. */
  readonly name?: Columns;
  readonly outputs: Columns;
  /** The operator with its domain. */
  readonly type: Columns;
}

export interface Columns {
  readonly start: number;
  readonly end: number;
}

export interface PrintedSection {
  readonly kind: 'header' | 'inputs' | 'outputs' | 'initializers' | 'nodes' | 'function';
  readonly line: number;
  readonly lastLine: number;
}

export interface PrintedFunction {
  readonly name: string;
  readonly line: number;
  readonly lastLine: number;
  readonly nodes: readonly PrintedNode[];
}

/** How much is shown; what is longer is elided. */
export interface PrintLimits {
  /** Entries of an attribute list. */
  readonly entries: number;
  /** Characters of a text; a text of several lines is cut after the first where this is finite. */
  readonly characters: number;
  /** Integers of a tensor. */
  readonly integers: number;
  /** Floating-point values of an initializer, which is a weight. */
  readonly weights: number;
  /** Floating-point values of a node's constant. */
  readonly constants: number;
}

/** For an editor: more values than these hide what a person looks for. */
export const viewLimits: PrintLimits = {
  entries: 256,
  characters: 1000,
  integers: 256,
  weights: 8,
  constants: 64,
};

/** For a file that is kept: everything that was read. */
export const fileLimits: PrintLimits = {
  entries: Number.POSITIVE_INFINITY,
  characters: Number.POSITIVE_INFINITY,
  integers: Number.POSITIVE_INFINITY,
  weights: Number.POSITIVE_INFINITY,
  constants: Number.POSITIVE_INFINITY,
};

const indentation = '   ';

export function printOnnxText(model: OnnxModel, limits: PrintLimits = viewLimits): PrintedOnnx {
  return new OnnxPrinter(limits).model(model);
}

class OnnxPrinter {
  readonly #limits: PrintLimits;
  readonly #out = new TextWriter();
  readonly #inputLines = new Map<string, number>();
  readonly #outputLines = new Map<string, number>();
  readonly #initializerLines = new Map<string, number>();
  readonly #sections: PrintedSection[] = [];
  #elided = 0;

  constructor(limits: PrintLimits) {
    this.#limits = limits;
  }

  model(model: OnnxModel): PrintedOnnx {
    this.#header(model);
    const graphLine = this.#out.line;
    const nodes = this.#topGraph(model.graph);
    const functions = model.functions.map((body) => this.#function(body));
    return {
      text: this.#out.text(),
      nodeLines: nodes.map((node) => node.line),
      nodes,
      inputLines: this.#inputLines,
      outputLines: this.#outputLines,
      initializerLines: this.#initializerLines,
      graphLine,
      sections: this.#sections,
      functions,
      elided: this.#elided,
    };
  }

  #header(model: OnnxModel): void {
    const entries = [
      `ir_version: ${printInteger(model.irVersion)}`,
      `opset_import: ${printOperatorSets(model.operatorSets, ', ')}`,
    ];
    if (model.producerName !== '') entries.push(`producer_name: ${this.#text(model.producerName)}`);
    if (model.producerVersion !== '') entries.push(`producer_version: ${this.#text(model.producerVersion)}`);
    if (model.domain !== '') entries.push(`domain: ${this.#text(model.domain)}`);
    if (model.modelVersion !== 0) entries.push(`model_version: ${printInteger(model.modelVersion)}`);
    if (model.docString !== undefined) entries.push(`doc_string: ${this.#text(model.docString)}`);
    if (model.metadata.size > 0) {
      const pairs = [...model.metadata].map(([key, value]) => `${this.#text(key)}: ${this.#text(value)}`);
      entries.push(`metadata_props: [${pairs.join(', ')}]`);
    }
    this.#section('header', () => this.#list('<', entries, '>'));
    this.#out.endLine();
  }

  /** The graph of the model: a line for each value of its signature. */
  #topGraph(graph: OnnxGraph): readonly PrintedNode[] {
    const out = this.#out;
    out.write(`${printName(graph.name)} `);
    this.#section('inputs', () => this.#values('(', graph.inputs, ')', this.#inputLines));
    out.write(' => ');
    this.#section('outputs', () => this.#values('(', graph.outputs, ')', this.#outputLines));
    if (hasStoredValues(graph)) {
      out.endLine();
      this.#section('initializers', () => this.#storedValues(graph));
      out.endLine();
    } else {
      out.write(' ');
    }
    const printed: PrintedNode[] = [];
    this.#section('nodes', () => this.#nodes(graph.nodes, indentation, printed));
    out.endLine();
    return printed;
  }

  #storedValues(graph: OnnxGraph): void {
    const out = this.#out;
    out.write('<');
    out.endLine();
    let left = graph.initializers.length + graph.sparseInitializers.length + graph.valueInfos.length;
    const end = (comment: string): void => {
      left -= 1;
      out.write(left === 0 ? '' : ',');
      if (comment !== '') out.write(`  # ${comment}`);
      out.endLine();
    };
    for (const tensor of graph.initializers) {
      this.#initializerLines.set(tensor.name, out.line);
      const { type, content, elided } = printTensor(tensor, this.#limits.weights, this.#limits.integers);
      out.write(`${indentation}${type} ${printName(tensor.name)} = ${content}`);
      if (elided) this.#elided += 1;
      end(elided || tensor.external !== undefined ? printTensorSize(tensor) : '');
    }
    for (const tensor of graph.sparseInitializers) {
      this.#initializerLines.set(tensor.name, out.line);
      this.#elided += 1;
      const type = printTensorType(tensor.elementType, tensor.dimensions);
      out.write(`${indentation}sparse_tensor(${type}) ${printName(tensor.name)} = {...}`);
      end(`sparse, ${tensor.storedBytes} bytes stored`);
    }
    for (const value of graph.valueInfos) {
      out.write(`${indentation}${printValueInfo(value)}`);
      end('');
    }
    out.write('>');
  }

  #function(body: OnnxFunction): PrintedFunction {
    const out = this.#out;
    out.endLine();
    const line = out.line;
    const nodes: PrintedNode[] = [];
    this.#section('function', () => {
      const entries = [`domain: ${this.#text(body.domain)}`];
      if (body.overload !== '') entries.push(`overload: ${this.#text(body.overload)}`);
      entries.push(`opset_import: ${printOperatorSets(body.operatorSets, ',')}`);
      this.#list('<', entries, '>');
      out.endLine();
      const attributes = [
        ...body.attributes.map(printName),
        ...[...body.defaults].map(([name, value]) => this.#attribute(name, value)),
      ];
      out.write(`${printName(body.name)} `);
      if (attributes.length > 0) out.write(`<${attributes.join(',')}>`);
      out.write(`(${printNames(body.inputs)}) => (${printNames(body.outputs)})`);
      out.endLine();
      if (body.valueInfos.length > 0) {
        this.#list('<', body.valueInfos.map(printValueInfo), '>');
        out.endLine();
      }
      this.#nodes(body.nodes, indentation, nodes);
      out.endLine();
    });
    return { name: body.name, line, lastLine: out.line - 1, nodes };
  }

  /**
   * Nodes in braces. A name stands on a line of its own above its node: exporters' names, outputs and inputs
   * together run to hundreds of columns, and what is shown at the end of a node's first line must be in sight.
   */
  #nodes(nodes: readonly OnnxNode[], indent: string, printed: PrintedNode[]): void {
    const out = this.#out;
    out.write('{');
    out.endLine();
    for (const node of nodes) {
      printed.push(this.#node(node, indent));
      out.endLine();
    }
    out.write(`${indent.slice(indentation.length)}}`);
  }

  #node(node: OnnxNode, indent: string): PrintedNode {
    const out = this.#out;
    const { line } = out;
    let name: Columns | undefined;
    if (node.name !== '') {
      out.write(`${indent}[`);
      name = this.#write(printName(node.name));
      out.write(']');
      out.endLine();
    }
    const bodyLine = out.line;
    const bodyIndent = node.name === '' ? indent : indent + indentation;
    out.write(bodyIndent);
    const outputs = this.#write(printNames(node.outputs));
    out.write(' = ');
    const domain = node.domain === '' ? '' : `${printDomain(node.domain)}.`;
    const type = this.#write(`${domain}${printQualifiedPart(node.type)}`);
    if (node.overload !== '') out.write(`:${printQualifiedPart(node.overload)}`);
    const subgraphs = [...node.attributes.values()].some(hasSubgraph);
    if (!subgraphs) this.#attributes(node, bodyIndent);
    out.write(` (${printNames(node.inputs)})`);
    if (subgraphs) this.#attributes(node, bodyIndent);
    const place = { line, bodyLine, lastLine: out.line, outputs, type };
    return name === undefined ? place : { ...place, name };
  }

  #attributes(node: OnnxNode, indent: string): void {
    if (node.attributes.size === 0) return;
    const out = this.#out;
    let separator = ' <';
    for (const [name, value] of node.attributes) {
      out.write(separator);
      separator = ', ';
      if (value.kind === 'graph') {
        out.write(`${printName(name)}: graph = `);
        this.#subgraph(value.value, indent);
      } else if (value.kind === 'graphs') {
        out.write(`${printName(name)}: graphs = [`);
        for (const [index, graph] of value.value.entries()) {
          if (index > 0) out.write(', ');
          this.#subgraph(graph, indent);
        }
        out.write(']');
      } else {
        out.write(this.#attribute(name, value));
      }
    }
    out.write('>');
  }

  /** A graph inside a node: its signature stays on one line, its nodes are one step further in. */
  #subgraph(graph: OnnxGraph, indent: string): void {
    const out = this.#out;
    const inner = indent + indentation;
    const values = (infos: readonly OnnxValueInfo[]): string => infos.map(printValueInfo).join(', ');
    out.write(`${printName(graph.name)} (${values(graph.inputs)}) => (${values(graph.outputs)})`);
    if (hasStoredValues(graph)) {
      const stored = [
        ...graph.initializers.map((tensor) => this.#innerTensor(tensor)),
        ...graph.sparseInitializers.map((tensor) => this.#innerSparseTensor(tensor)),
        ...graph.valueInfos.map(printValueInfo),
      ];
      out.endLine();
      out.write(`${inner}<${stored.join(', ')}>`);
      out.endLine();
      out.write(indent);
    } else {
      out.write(' ');
    }
    this.#nodes(graph.nodes, inner, []);
  }

  #innerTensor(tensor: TensorLiteral): string {
    const { type, content, elided } = printTensor(tensor, this.#limits.weights, this.#limits.integers);
    if (elided) this.#elided += 1;
    return `${type} ${printName(tensor.name)} = ${content}`;
  }

  #innerSparseTensor(tensor: TensorLiteral): string {
    this.#elided += 1;
    const type = printTensorType(tensor.elementType, tensor.dimensions);
    return `sparse_tensor(${type}) ${printName(tensor.name)} = {...}`;
  }

  /** An attribute without subgraphs, on one line. */
  #attribute(name: string, attribute: Attribute<OnnxGraph>): string {
    const start = printName(name);
    switch (attribute.kind) {
      case 'int':
        return `${start}: int = ${printInteger(attribute.value)}`;
      case 'float':
        return `${start}: float = ${printFloat32(attribute.value)}`;
      case 'string':
        return `${start}: string = ${this.#text(attribute.value)}`;
      case 'ints':
        return `${start}: ints = ${this.#entries(attribute.value, printInteger)}`;
      case 'floats':
        return `${start}: floats = ${this.#entries(attribute.value, printFloat32)}`;
      case 'strings':
        return `${start}: strings = ${this.#entries(attribute.value, (text) => this.#text(text))}`;
      case 'tensor':
        return `${start}: tensor = ${this.#attributeTensor(attribute.value)}`;
      case 'type_proto':
        return `${start}: type_proto = ${printType(attribute.value)}`;
      case 'type_protos':
        return `${start}: type_protos = ${this.#entries(attribute.value, printType)}`;
      case 'tensors':
        return `${start}: tensors = ${this.#entries(attribute.value, (tensor) => this.#attributeTensor(tensor))}`;
      case 'reference': {
        const type = attribute.type === undefined ? '' : `: ${attribute.type}`;
        return `${start}${type} = @${printName(attribute.value)}`;
      }
      case 'graph':
      case 'graphs':
        this.#elided += 1;
        return `${start}: ${attribute.kind} = {...}`;
      case 'sparse_tensor':
      case 'other':
        this.#elided += 1;
        return `${start} = {...}`;
    }
  }

  #attributeTensor(tensor: TensorLiteral): string {
    const { type, content, elided } = printTensor(tensor, this.#limits.constants, this.#limits.integers);
    if (elided) this.#elided += 1;
    return tensor.name === '' ? `${type} ${content}` : `${type} ${printName(tensor.name)} ${content}`;
  }

  #entries<Entry>(entries: readonly Entry[], print: (entry: Entry) => string): string {
    if (entries.length <= this.#limits.entries) return `[${entries.map(print).join(', ')}]`;
    this.#elided += 1;
    return `[${entries.slice(0, 8).map(print).join(', ')}, ...]`;
  }

  /** A quoted text. In a view it takes one line: a long one, or one of several lines, is cut. */
  #text(text: string): string {
    const { characters } = this.#limits;
    if (characters === Number.POSITIVE_INFINITY) return quoteWhole(text);
    const [firstLine = ''] = text.split(/[\r\n]/, 1);
    const shown = firstLine.slice(0, characters);
    if (shown.length === text.length) return quote(text);
    this.#elided += 1;
    return quote(`${shown}...`);
  }

  #write(text: string): Columns {
    const start = this.#out.column;
    this.#out.write(text);
    return { start, end: this.#out.column };
  }

  #section(kind: PrintedSection['kind'], print: () => void): void {
    const { line } = this.#out;
    print();
    const lastLine = this.#out.column === 0 ? this.#out.line - 1 : this.#out.line;
    this.#sections.push({ kind, line, lastLine });
  }

  #values(open: string, values: readonly OnnxValueInfo[], close: string, lines: Map<string, number>): void {
    for (const [index, value] of values.entries()) lines.set(value.name, this.#out.line + 1 + index);
    this.#list(open, values.map(printValueInfo), close);
  }

  /** Entries on lines of their own between brackets; an empty list stays on the line. */
  #list(open: string, entries: readonly string[], close: string): void {
    const out = this.#out;
    out.write(open);
    if (entries.length > 0) {
      out.endLine();
      for (const [index, entry] of entries.entries()) {
        out.write(`${indentation}${entry}${index === entries.length - 1 ? '' : ','}`);
        out.endLine();
      }
    }
    out.write(close);
  }
}

const hasStoredValues = (graph: OnnxGraph): boolean =>
  graph.initializers.length + graph.sparseInitializers.length + graph.valueInfos.length > 0;

const hasSubgraph = (attribute: Attribute<OnnxGraph>): boolean =>
  attribute.kind === 'graph' || (attribute.kind === 'graphs' && attribute.value.length > 0);

const printValueInfo = (value: OnnxValueInfo): string =>
  `${value.type === undefined ? '' : `${printType(value.type)} `}${printName(value.name)}`;

const printNames = (names: readonly string[]): string => names.map(printName).join(', ');

function printOperatorSets(sets: OnnxModel['operatorSets'], separator: string): string {
  return `[${sets.map((set) => `${quote(set.domain)} : ${printInteger(set.version)}`).join(separator)}]`;
}
