/**
 * Prints a model in ONNX's own textual syntax (ONNX docs/Syntax.md), laid out for a person to read in an editor:
 * every input, output and initializer on a line of its own, every node without subgraphs on one line.
 *
 * One thing is added to the syntax: `{...}` stands for values that are not shown, and a comment says how large
 * they are. Where nothing is elided the text is what ONNX's parser accepts.
 */

import type { OnnxFunction, OnnxGraph, OnnxModel, OnnxValueInfo } from '../onnx/syntax.ts';
import type { PrintedFunction, PrintedNode, PrintedOnnx, PrintedSection } from './printedOnnx.ts';
import { type PrintLimits, viewLimits } from './printLimits.ts';
import { printNodes } from './printNodes.ts';
import { printInteger } from './printNumbers.ts';
import { printTensorSize } from './printTensor.ts';
import { printName, printNames, printValueInfo, quote } from './printType.ts';
import { indentation, TextWriter } from './textWriter.ts';
import { ValuePrinter } from './valuePrinter.ts';

export function printOnnxText(model: OnnxModel, limits: PrintLimits = viewLimits): PrintedOnnx {
  return new OnnxPrinter(limits).model(model);
}

class OnnxPrinter {
  readonly #out = new TextWriter();
  readonly #values: ValuePrinter;
  readonly #initializerLines = new Map<string, number>();
  readonly #sections: PrintedSection[] = [];

  constructor(limits: PrintLimits) {
    this.#values = new ValuePrinter(limits);
  }

  model(model: OnnxModel): PrintedOnnx {
    const out = this.#out;
    this.#section('header', () => out.list('<', this.#header(model), '>'));
    out.endLine();
    const graphLine = out.line;
    const signature = this.#signature(model.graph);
    const nodes = this.#body(model.graph);
    const functions = model.functions.map((body) => this.#function(body));
    return {
      text: out.text(),
      nodeLines: nodes.map((node) => node.line),
      nodes,
      ...signature,
      initializerLines: this.#initializerLines,
      graphLine,
      sections: this.#sections,
      functions,
      elided: this.#values.elided,
    };
  }

  #header(model: OnnxModel): readonly string[] {
    const text = (written: string): string => this.#values.text(written);
    const entries = [
      `ir_version: ${printInteger(model.irVersion)}`,
      `opset_import: ${printOperatorSets(model.operatorSets, ', ')}`,
    ];
    if (model.producerName !== '') entries.push(`producer_name: ${text(model.producerName)}`);
    if (model.producerVersion !== '') entries.push(`producer_version: ${text(model.producerVersion)}`);
    if (model.domain !== '') entries.push(`domain: ${text(model.domain)}`);
    if (model.modelVersion !== 0) entries.push(`model_version: ${printInteger(model.modelVersion)}`);
    if (model.docString !== undefined) entries.push(`doc_string: ${text(model.docString)}`);
    if (model.metadata.size > 0) {
      const pairs = [...model.metadata].map(([key, value]) => `${text(key)}: ${text(value)}`);
      entries.push(`metadata_props: [${pairs.join(', ')}]`);
    }
    return entries;
  }

  /** The name of the model's graph, and a line for each of its inputs and outputs. */
  #signature({ name, inputs, outputs }: OnnxGraph): Pick<PrintedOnnx, 'inputLines' | 'outputLines'> {
    this.#out.write(`${printName(name)} `);
    const inputLines = this.#section('inputs', () => this.#valueInfos(inputs));
    this.#out.write(' => ');
    const outputLines = this.#section('outputs', () => this.#valueInfos(outputs));
    return { inputLines, outputLines };
  }

  /** Gives their lines by name. */
  #valueInfos(infos: readonly OnnxValueInfo[]): ReadonlyMap<string, number> {
    const first = this.#out.line + 1;
    this.#out.list('(', infos.map(printValueInfo), ')');
    return new Map(infos.map(({ name }, index) => [name, first + index]));
  }

  #body(graph: OnnxGraph): readonly PrintedNode[] {
    const out = this.#out;
    const stored = graph.initializers.length + graph.sparseInitializers.length + graph.valueInfos.length;
    if (stored > 0) {
      out.endLine();
      this.#section('initializers', () => this.#storedValues(graph, stored));
      out.endLine();
    } else {
      out.write(' ');
    }
    const printed = this.#section('nodes', () => printNodes(graph.nodes, indentation, out, this.#values));
    out.endLine();
    return printed;
  }

  #storedValues(graph: OnnxGraph, count: number): void {
    const out = this.#out;
    let left = count;
    const writeLine = (text: string, comment: string): void => {
      left -= 1;
      out.write(`${indentation}${text}${left === 0 ? '' : ','}${comment === '' ? '' : `  # ${comment}`}`);
      out.endLine();
    };
    out.write('<');
    out.endLine();
    for (const tensor of graph.initializers) {
      this.#initializerLines.set(tensor.name, out.line);
      const { text, elided } = this.#values.initializer(tensor);
      writeLine(text, elided || tensor.external !== undefined ? printTensorSize(tensor) : '');
    }
    for (const tensor of graph.sparseInitializers) {
      this.#initializerLines.set(tensor.name, out.line);
      writeLine(this.#values.sparseInitializer(tensor), `sparse, ${tensor.storedBytes} bytes stored`);
    }
    for (const value of graph.valueInfos) writeLine(printValueInfo(value), '');
    out.write('>');
  }

  #function(body: OnnxFunction): PrintedFunction {
    const out = this.#out;
    out.endLine();
    const { line } = out;
    const nodes = this.#section('function', () => {
      const entries = [`domain: ${this.#values.text(body.domain)}`];
      if (body.overload !== '') entries.push(`overload: ${this.#values.text(body.overload)}`);
      entries.push(`opset_import: ${printOperatorSets(body.operatorSets, ',')}`);
      out.list('<', entries, '>');
      out.endLine();
      const attributes = [
        ...body.attributes.map(printName),
        ...[...body.defaults].map(([name, value]) => this.#values.attribute(name, value)),
      ];
      out.write(`${printName(body.name)} `);
      if (attributes.length > 0) out.write(`<${attributes.join(',')}>`);
      out.write(`(${printNames(body.inputs)}) => (${printNames(body.outputs)})`);
      out.endLine();
      if (body.valueInfos.length > 0) {
        out.list('<', body.valueInfos.map(printValueInfo), '>');
        out.endLine();
      }
      const printed = printNodes(body.nodes, indentation, out, this.#values);
      out.endLine();
      return printed;
    });
    return { name: body.name, line, lastLine: out.line - 1, nodes };
  }

  /** What `print` prints is a part that can be folded. */
  #section<Printed>(kind: PrintedSection['kind'], print: () => Printed): Printed {
    const { line } = this.#out;
    const printed = print();
    const lastLine = this.#out.column === 0 ? this.#out.line - 1 : this.#out.line;
    this.#sections.push({ kind, line, lastLine });
    return printed;
  }
}

function printOperatorSets(sets: OnnxModel['operatorSets'], separator: string): string {
  return `[${sets.map((set) => `${quote(set.domain)} : ${printInteger(set.version)}`).join(separator)}]`;
}
