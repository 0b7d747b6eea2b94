/**
 * Nodes in braces. A name stands on a line of its own above its node: exporters' names, outputs and inputs
 * together run to hundreds of columns, and what is shown at the end of a node's first line must be in sight.
 */

import type { Attribute } from '../../model/attribute.ts';
import type { OnnxGraph, OnnxNode, OnnxValueInfo } from '../onnx/syntax.ts';
import type { Columns, PrintedNode } from './printedOnnx.ts';
import { printDomain, printName, printNames, printQualifiedPart, printValueInfo } from './printType.ts';
import { indentation, type TextWriter } from './textWriter.ts';
import type { ValuePrinter } from './valuePrinter.ts';

/** Gives where the parts of each node are; nodes of subgraphs are parts of the node they are in. */
export function printNodes(
  nodes: readonly OnnxNode[],
  indent: string,
  out: TextWriter,
  values: ValuePrinter,
): readonly PrintedNode[] {
  out.write('{');
  out.endLine();
  const printed = nodes.map((node) => {
    const place = printNode(node, indent, out, values);
    out.endLine();
    return place;
  });
  out.write(`${indent.slice(indentation.length)}}`);
  return printed;
}

function printNode(node: OnnxNode, indent: string, out: TextWriter, values: ValuePrinter): PrintedNode {
  const { line } = out;
  let name: Columns | undefined;
  if (node.name !== '') {
    out.write(`${indent}[`);
    name = writeMarked(out, printName(node.name));
    out.write(']');
    out.endLine();
  }
  const bodyLine = out.line;
  const bodyIndent = node.name === '' ? indent : indent + indentation;
  out.write(bodyIndent);
  const outputs = writeMarked(out, printNames(node.outputs));
  out.write(' = ');
  const domain = node.domain === '' ? '' : `${printDomain(node.domain)}.`;
  const type = writeMarked(out, `${domain}${printQualifiedPart(node.type)}`);
  if (node.overload !== '') out.write(`:${printQualifiedPart(node.overload)}`);
  const hasSubgraphs = [...node.attributes.values()].some(isSubgraph);
  if (!hasSubgraphs) printAttributes(node, bodyIndent, out, values);
  out.write(` (${printNames(node.inputs)})`);
  if (hasSubgraphs) printAttributes(node, bodyIndent, out, values);
  const place = { line, bodyLine, lastLine: out.line, outputs, type };
  return name === undefined ? place : { ...place, name };
}

const isSubgraph = (attribute: Attribute<OnnxGraph>): boolean =>
  attribute.kind === 'graph' || (attribute.kind === 'graphs' && attribute.value.length > 0);

function writeMarked(out: TextWriter, text: string): Columns {
  const start = out.column;
  out.write(text);
  return { start, end: out.column };
}

function printAttributes(node: OnnxNode, indent: string, out: TextWriter, values: ValuePrinter): void {
  if (node.attributes.size === 0) return;
  let separator = ' <';
  for (const [name, value] of node.attributes) {
    out.write(separator);
    separator = ', ';
    if (value.kind === 'graph') {
      out.write(`${printName(name)}: graph = `);
      printSubgraph(value.value, indent, out, values);
    } else if (value.kind === 'graphs') {
      out.write(`${printName(name)}: graphs = [`);
      for (const [index, graph] of value.value.entries()) {
        if (index > 0) out.write(', ');
        printSubgraph(graph, indent, out, values);
      }
      out.write(']');
    } else {
      out.write(values.attribute(name, value));
    }
  }
  out.write('>');
}

/** A graph inside a node: its signature stays on one line, its nodes are one step further in. */
function printSubgraph(graph: OnnxGraph, indent: string, out: TextWriter, values: ValuePrinter): void {
  const inner = indent + indentation;
  const signature = (infos: readonly OnnxValueInfo[]): string => infos.map(printValueInfo).join(', ');
  out.write(`${printName(graph.name)} (${signature(graph.inputs)}) => (${signature(graph.outputs)})`);
  const stored = [
    ...graph.initializers.map((tensor) => values.initializer(tensor).text),
    ...graph.sparseInitializers.map((tensor) => values.sparseInitializer(tensor)),
    ...graph.valueInfos.map(printValueInfo),
  ];
  if (stored.length > 0) {
    out.endLine();
    out.write(`${inner}<${stored.join(', ')}>`);
    out.endLine();
    out.write(indent);
  } else {
    out.write(' ');
  }
  printNodes(graph.nodes, inner, out, values);
}
