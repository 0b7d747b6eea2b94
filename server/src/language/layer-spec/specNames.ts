/**
 * What every name of a layer spec means: where it is defined and where it is used.
 *
 * Scopes are those of lowering: parameters of a block hide dims, layers of a block hide those outside, and a layer
 * named twice means the nearest one above.
 */

import { findLayer } from '../../analysis/layer-spec/layerDefinitions.ts';
import type { Expression, Name, SpecBlock, SpecLayer } from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';
import { holds, type SpecText } from './specText.ts';

export type NameKind = 'layer' | 'block' | 'dimension' | 'parameter' | 'input';

export interface SpecName {
  readonly kind: NameKind;
  readonly text: string;
  /** The word that defines it. */
  readonly definition: TextSpan;
  /** All that its definition says: `d: 768`, a layer's line, a block with its layers. */
  readonly whole: TextSpan;
  /** Name of the block it belongs to; `undefined` at the top level. */
  readonly block: string | undefined;
  /** Uses in order of the text, the definition left out. */
  readonly references: readonly TextSpan[];
}

/** Every name that the text defines, in order of kinds: dims, inputs, blocks with their parameters and layers, layers. */
export function namesOfSpec(document: SpecText): readonly SpecName[] {
  const index = new Index(document);
  index.read();
  return index.names.map((name) => ({
    ...name,
    references: name.references.toSorted((left, right) => left.start - right.start),
  }));
}

/** The name at an offset, whether defined or used there, and the word itself. */
export function nameAt(
  names: readonly SpecName[],
  offset: number,
): { readonly name: SpecName; readonly span: TextSpan } | undefined {
  for (const name of names) {
    const span = [name.definition, ...name.references].find((candidate) => holds(candidate, offset));
    if (span !== undefined) return { name, span };
  }
  return undefined;
}

interface OpenName extends SpecName {
  readonly references: TextSpan[];
}

class Index {
  readonly names: OpenName[] = [];
  private readonly byKey = new Map<string, OpenName[]>();

  constructor(private readonly document: SpecText) {}

  read(): void {
    const { spec } = this.document;
    for (const { name, value } of spec.dims) {
      this.define('dimension', name, { start: name.span.start, end: value?.span.end ?? name.span.end });
    }
    for (const { name, dimensions } of spec.inputs) {
      const end = dimensions.at(-1)?.span.end ?? name.span.end;
      this.define('input', name, { start: name.span.start, end });
    }
    for (const block of spec.blocks) this.defineBlock(block);
    for (const layer of spec.layers) this.define('layer', layer.name, layer.span);

    for (const { value } of spec.dims) if (value !== undefined) this.values(value, undefined);
    for (const { dimensions } of spec.inputs) for (const size of dimensions) this.inputSizes(size);
    for (const block of spec.blocks) {
      for (const parameter of block.parameters) {
        if (parameter.default !== undefined) this.values(parameter.default, undefined);
      }
      for (const layer of block.layers) this.layer(layer, block);
    }
    for (const layer of spec.layers) this.layer(layer, undefined);
    for (const name of spec.outputs) this.tensor(name, undefined, name.span.start);
  }

  private define(kind: NameKind, name: Name, whole: TextSpan, block?: string): void {
    const made = { kind, text: name.text, definition: name.span, whole, block, references: [] };
    this.names.push(made);
    const key = keyOf(kind, name.text, block);
    const same = this.byKey.get(key);
    if (same === undefined) this.byKey.set(key, [made]);
    else same.push(made);
  }

  private defineBlock(block: SpecBlock): void {
    const end =
      block.layers.at(-1)?.span.end ?? block.parameters.at(-1)?.name.span.end ?? block.name.span.end;
    this.define('block', block.name, { start: block.name.span.start, end });
    for (const { name, default: value } of block.parameters) {
      const whole = { start: name.span.start, end: value?.span.end ?? name.span.end };
      this.define('parameter', name, whole, block.name.text);
    }
    for (const layer of block.layers) this.define('layer', layer.name, layer.span, block.name.text);
  }

  private layer({ name, call }: SpecLayer, block: SpecBlock | undefined): void {
    const at = name.span.start;
    const called = this.find('block', call.callee.text, undefined);
    called?.references.push(call.callee.span);
    const definition = called === undefined ? findLayer(call.callee.text) : undefined;
    const takesTensors = called === undefined && definition?.kind !== 'module';
    let tensorsLeft = takesTensors;
    for (const { keyword, value } of call.arguments) {
      if (keyword !== undefined && called !== undefined) {
        this.find('parameter', keyword.text, called.text)?.references.push(keyword.span);
      }
      const parameter = definition?.parameters.find((candidate) => candidate.name === keyword?.text);
      if (parameter?.type === 'layer' && value.kind === 'name') {
        for (const name of this.namesIn(value)) this.tensor(name, block, at);
        continue;
      }
      const items = value.kind === 'tuple' ? value.items : [value];
      const tensors = items.filter((item) => item.kind === 'name');
      const named =
        tensorsLeft &&
        keyword === undefined &&
        tensors.length === items.length &&
        tensors.length > 0 &&
        tensors.every(
          (item) =>
            this.tensorNamed(item.name, block, at) !== undefined || !this.valueNamed(item.name, block),
        );
      if (named) for (const name of this.namesIn(value)) this.tensor(name, block, at);
      else {
        tensorsLeft = false;
        this.values(value, block);
      }
    }
    if (call.repetition !== undefined) this.values(call.repetition, block);
    for (const source of call.sources) this.tensor(source, block, at);
  }

  private tensor(name: Name, block: SpecBlock | undefined, before: number): void {
    this.tensorNamed(name.text, block, before)?.references.push(name.span);
  }

  private tensorNamed(text: string, block: SpecBlock | undefined, before: number): OpenName | undefined {
    const isAbove = ({ definition }: OpenName): boolean => definition.start < before;
    if (block !== undefined) {
      const inside = this.byKey.get(keyOf('layer', text, block.name.text))?.findLast(isAbove);
      // `input` is what the block is given; it has no definition to go to.
      if (inside !== undefined || text === 'input') return inside;
    }
    const outside = this.byKey.get(keyOf('layer', text, undefined));
    const above = block === undefined ? outside?.findLast(isAbove) : outside?.at(-1);
    return above ?? this.find('input', text, undefined);
  }

  private valueNamed(text: string, block: SpecBlock | undefined): OpenName | undefined {
    const parameter = block === undefined ? undefined : this.find('parameter', text, block.name.text);
    return parameter ?? this.find('dimension', text, undefined);
  }

  private values(expression: Expression, block: SpecBlock | undefined): void {
    for (const { text, span } of this.namesIn(expression)) {
      this.valueNamed(text, block)?.references.push(span);
    }
  }

  /** A size that no dim declares stands for itself: its first use is its definition. */
  private inputSizes(expression: Expression): void {
    for (const name of this.namesIn(expression)) {
      const known = this.find('dimension', name.text, undefined);
      if (known !== undefined) known.references.push(name.span);
      else this.define('dimension', name, name.span);
    }
  }

  private find(kind: NameKind, text: string, block: string | undefined): OpenName | undefined {
    return this.byKey.get(keyOf(kind, text, block))?.[0];
  }

  private namesIn(expression: Expression): readonly Name[] {
    return namesWithSpans(expression, this.document.source);
  }
}

const keyOf = (kind: NameKind, text: string, block: string | undefined): string =>
  `${kind} ${block ?? ''} ${text}`;

/** The names an expression reads, each at its place; the parentheses around a name are not part of it. */
export function namesWithSpans(expression: Expression, source: string): readonly Name[] {
  switch (expression.kind) {
    case 'name': {
      const start = source.indexOf(expression.name, expression.span.start);
      return [{ text: expression.name, span: { start, end: start + expression.name.length } }];
    }
    case 'negation':
      return namesWithSpans(expression.operand, source);
    case 'binary':
      return [...namesWithSpans(expression.left, source), ...namesWithSpans(expression.right, source)];
    case 'tuple':
      return expression.items.flatMap((item) => namesWithSpans(item, source));
    default:
      return [];
  }
}
