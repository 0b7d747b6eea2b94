/** Attributes, texts and tensors, each on one line and cut where it is longer than what is shown. */

import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import type { OnnxGraph } from '../onnx/syntax.ts';
import type { PrintLimits } from './printLimits.ts';
import { printFloat32, printInteger } from './printNumbers.ts';
import { printTensor } from './printTensor.ts';
import { printName, printTensorType, printType, quote, quoteWhole } from './printType.ts';

export class ValuePrinter {
  /** How many values, lists and texts were not printed in full. */
  elided = 0;
  readonly #limits: PrintLimits;

  constructor(limits: PrintLimits) {
    this.#limits = limits;
  }

  /** An attribute without subgraphs, on one line. */
  attribute(name: string, attribute: Attribute<OnnxGraph>): string {
    const start = printName(name);
    switch (attribute.kind) {
      case 'int':
        return `${start}: int = ${printInteger(attribute.value)}`;
      case 'float':
        return `${start}: float = ${printFloat32(attribute.value)}`;
      case 'string':
        return `${start}: string = ${this.text(attribute.value)}`;
      case 'ints':
        return `${start}: ints = ${this.#entries(attribute.value, printInteger)}`;
      case 'floats':
        return `${start}: floats = ${this.#entries(attribute.value, printFloat32)}`;
      case 'strings':
        return `${start}: strings = ${this.#entries(attribute.value, (text) => this.text(text))}`;
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
        this.elided += 1;
        return `${start}: ${attribute.kind} = {...}`;
      case 'sparse_tensor':
      case 'other':
        this.elided += 1;
        return `${start} = {...}`;
    }
  }

  #attributeTensor(tensor: TensorLiteral): string {
    const { type, content, elided } = printTensor(tensor, this.#limits.constants, this.#limits.integers);
    if (elided) this.elided += 1;
    return tensor.name === '' ? `${type} ${content}` : `${type} ${printName(tensor.name)} ${content}`;
  }

  #entries<Entry>(entries: readonly Entry[], print: (entry: Entry) => string): string {
    if (entries.length <= this.#limits.entries) return `[${entries.map(print).join(', ')}]`;
    this.elided += 1;
    return `[${entries.slice(0, 8).map(print).join(', ')}, ...]`;
  }

  /** A quoted text. In a view it takes one line: a long one, or one of several lines, is cut. */
  text(text: string): string {
    const { characters } = this.#limits;
    if (characters === Number.POSITIVE_INFINITY) return quoteWhole(text);
    const [firstLine = ''] = text.split(/[\r\n]/, 1);
    const shown = firstLine.slice(0, characters);
    if (shown.length === text.length) return quote(text);
    this.elided += 1;
    return quote(`${shown}...`);
  }

  /** A weight of a graph, by name, and whether its values are left out. */
  initializer(tensor: TensorLiteral): { readonly text: string; readonly elided: boolean } {
    const { type, content, elided } = printTensor(tensor, this.#limits.weights, this.#limits.integers);
    if (elided) this.elided += 1;
    return { text: `${type} ${printName(tensor.name)} = ${content}`, elided };
  }

  /** Values of sparse tensors are never printed. */
  sparseInitializer({ name, elementType, dimensions }: TensorLiteral): string {
    this.elided += 1;
    return `sparse_tensor(${printTensorType(elementType, dimensions)}) ${printName(name)} = {...}`;
  }
}
