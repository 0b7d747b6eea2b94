/**
 * What every name of a layer spec means: where it is defined and where it is used.
 *
 * Scopes are those of lowering: parameters of a block hide dims, layers of a block hide those outside, and a layer
 * named twice means the nearest one above. What several models of a file define under one name is one name, since
 * what they share may use it.
 */

import type { LayerDefinition } from '../../analysis/layer-spec/layerDefinition.ts';
import { findLayer } from '../../analysis/layer-spec/layerDefinitions.ts';
import type {
  Expression,
  LayerCall,
  Name,
  SpecBlock,
  SpecBody,
  SpecLayer,
} from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';
import { bodiesOf, calledLayers, holds, type SpecText } from './specText.ts';

export type NameKind = 'layer' | 'block' | 'dimension' | 'parameter' | 'input';

export interface SpecName {
  readonly kind: NameKind;
  readonly text: string;
  /** The word that defines it; one more for every further model that does. */
  readonly definitions: readonly TextSpan[];
  /** All that its first definition says: `d: 768`, a layer's line, a block with its layers. */
  readonly whole: TextSpan;
  /** The block it can be used in; `undefined` for what is visible everywhere. */
  readonly block: string | undefined;
  /** Uses in order of the text, definitions left out. */
  readonly references: readonly TextSpan[];
}

/** Every name that the text defines. */
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
    const span = [...name.definitions, ...name.references].find((candidate) => holds(candidate, offset));
    if (span !== undefined) return { name, span };
  }
  return undefined;
}

interface OpenName extends SpecName {
  readonly definitions: TextSpan[];
  readonly references: TextSpan[];
}

/** Where a name is looked up: a block, or what stands outside of blocks in one model. */
interface Place {
  readonly block: SpecBlock | undefined;
  readonly model: string | undefined;
  /** Layers below this offset are not there yet. */
  readonly before: number;
}

const everywhere = Number.MAX_SAFE_INTEGER;

class Index {
  readonly names: OpenName[] = [];
  private readonly byKey = new Map<string, OpenName[]>();

  constructor(private readonly document: SpecText) {}

  read(): void {
    const bodies = bodiesOf(this.document.spec);
    for (const { body, model } of bodies) this.define(body, model);
    for (const { body, model } of bodies) this.refer(body, model);
  }

  private define({ dims, inputs, blocks, layers }: SpecBody, model: string | undefined): void {
    for (const { name, value } of dims) {
      this.shared('dimension', name, { start: name.span.start, end: value?.span.end ?? name.span.end });
    }
    for (const { name, dimensions } of inputs) {
      const end = dimensions.at(-1)?.span.end ?? name.span.end;
      this.shared('input', name, { start: name.span.start, end });
    }
    for (const block of blocks) this.defineBlock(block);
    this.defineLayers(layers, `models.${model ?? ''}`, undefined);
  }

  private defineBlock(block: SpecBlock): void {
    const { text } = block.name;
    this.shared('block', block.name, block.span);
    for (const { name, default: value } of block.parameters) {
      const whole = { start: name.span.start, end: value?.span.end ?? name.span.end };
      this.shared('parameter', name, whole, text);
    }
    for (const name of block.inputs) this.shared('input', name, name.span, text);
    this.defineLayers(block.layers, `blocks.${text}`, text);
  }

  private defineLayers(layers: readonly SpecLayer[], scope: string, block: string | undefined): void {
    for (const { names, span } of layers)
      for (const name of names) this.add('layer', name, span, scope, block);
  }

  private shared(kind: NameKind, name: Name, whole: TextSpan, block?: string): void {
    const known = this.find(kind, name.text, block ?? '');
    if (known === undefined) this.add(kind, name, whole, block ?? '', block);
    else known.definitions.push(name.span);
  }

  private add(
    kind: NameKind,
    { text, span }: Name,
    whole: TextSpan,
    scope: string,
    block: string | undefined,
  ) {
    const made: OpenName = { kind, text, definitions: [span], whole, block, references: [] };
    this.names.push(made);
    const key = keyOf(kind, text, scope);
    const same = this.byKey.get(key);
    if (same === undefined) this.byKey.set(key, [made]);
    else same.push(made);
  }

  private refer({ dims, inputs, blocks, layers, outputs }: SpecBody, model: string | undefined): void {
    const outside: Place = { block: undefined, model, before: everywhere };
    for (const { value } of dims) if (value !== undefined) this.values(value, outside);
    for (const { dimensions } of inputs) for (const size of dimensions) this.inputSizes(size);
    for (const block of blocks) {
      const inside: Place = { block, model, before: everywhere };
      for (const { default: value } of block.parameters) if (value !== undefined) this.values(value, outside);
      for (const layer of block.layers) this.layer(layer, { ...inside, before: layer.span.start });
      for (const name of block.outputs) this.tensor(name, inside);
    }
    for (const layer of layers) this.layer(layer, { ...outside, before: layer.span.start });
    for (const name of outputs) this.tensor(name, outside);
  }

  private layer({ call }: SpecLayer, place: Place): void {
    if (call === undefined) return;
    this.arguments(call, place);
    if (call.repetition !== undefined) this.values(call.repetition, place);
    for (const source of call.sources) this.tensor(source, place);
  }

  private arguments({ callee, arguments: given }: LayerCall, place: Place): void {
    const called = this.find('block', callee.text, '');
    called?.references.push(callee.span);
    const definition = called === undefined ? findLayer(callee.text) : undefined;
    const isIncluded = this.document.included.some(({ blocks }) =>
      blocks.some(({ name }) => name.text === callee.text),
    );
    const isFunction = called === undefined && !isIncluded && definition?.kind !== 'module';
    let leading = true;
    for (const { keyword, value } of given) {
      if (keyword !== undefined) {
        if (called !== undefined) {
          this.find('parameter', keyword.text, called.text)?.references.push(keyword.span);
        }
        if (takesTensor(definition, keyword.text)) {
          this.tensors(this.namesIn(value), place);
          if (value.kind === 'member') this.layerInBlock(value, place);
        } else this.values(value, place);
        continue;
      }
      const items = value.kind === 'tuple' ? value.items : [value];
      const named = items.filter(({ kind }) => kind === 'name' || kind === 'member');
      const names = named.flatMap((item) => this.namesIn(item));
      const areTensors =
        isFunction &&
        named.length === items.length &&
        names.every(
          ({ text }) =>
            this.tensorNamed(text, place) !== undefined ||
            (leading && this.valueNamed(text, place) === undefined),
        );
      if (areTensors) this.tensors(names, place);
      else {
        leading = false;
        this.values(value, place);
      }
    }
  }

  private tensors(names: readonly Name[], place: Place): void {
    for (const name of names) this.tensor(name, place);
  }

  private tensor({ text, span }: Name, place: Place): void {
    this.tensorNamed(text, place)?.references.push({ start: span.start, end: span.start + text.length });
  }

  /** `encoder.embed`: a layer of the block that another layer calls. */
  private layerInBlock({ object, member }: Extract<Expression, { kind: 'member' }>, place: Place): void {
    const start = this.tensorNamed(object.text, place)?.whole.start;
    const called = calledLayers(this.document.spec).find(({ layer }) => layer.span.start === start);
    const block = called?.call.callee.text ?? '';
    this.byKey
      .get(keyOf('layer', member.text, `blocks.${block}`))
      ?.at(-1)
      ?.references.push(member.span);
  }

  private tensorNamed(text: string, { block, model, before }: Place): OpenName | undefined {
    const isAbove = ({ definitions: [first] }: OpenName): boolean => (first?.start ?? 0) < before;
    if (block !== undefined) {
      const inside = this.byKey.get(keyOf('layer', text, `blocks.${block.name.text}`))?.findLast(isAbove);
      const given = inside ?? this.find('input', text, block.name.text);
      // `input` is what the block is given; it has no definition to go to.
      if (given !== undefined || text === 'input') return given;
    }
    const outside = [model ?? '', ''].flatMap(
      (each) => this.byKey.get(keyOf('layer', text, `models.${each}`)) ?? [],
    );
    const above = block === undefined ? outside.findLast(isAbove) : outside.at(-1);
    return above ?? this.find('input', text, '');
  }

  private valueNamed(text: string, { block }: Place): OpenName | undefined {
    const parameter = block === undefined ? undefined : this.find('parameter', text, block.name.text);
    return parameter ?? this.find('dimension', text, '');
  }

  private values(expression: Expression, place: Place): void {
    for (const { text, span } of this.namesIn(expression)) {
      this.valueNamed(text, place)?.references.push(span);
    }
  }

  /** A size that no dim declares stands for itself: its first use is its definition. */
  private inputSizes(expression: Expression): void {
    for (const name of this.namesIn(expression)) {
      const known = this.find('dimension', name.text, '');
      if (known === undefined) this.shared('dimension', name, name.span);
      else known.references.push(name.span);
    }
  }

  private find(kind: NameKind, text: string, scope: string): OpenName | undefined {
    return this.byKey.get(keyOf(kind, text, scope))?.[0];
  }

  private namesIn(expression: Expression): readonly Name[] {
    return namesWithSpans(expression, this.document.source);
  }
}

/** Whether the argument of this name is a tensor, or the layer whose weights are shared. */
const takesTensor = (definition: LayerDefinition | undefined, name: string): boolean =>
  definition !== undefined &&
  (definition.inputs.names.includes(name) ||
    definition.parameters.some((parameter) => parameter.name === name && parameter.type === 'layer'));

const keyOf = (kind: NameKind, text: string, scope: string): string => `${kind} ${scope} ${text}`;

/** The names an expression reads, each at its place; the parentheses around a name are not part of it. */
function namesWithSpans(expression: Expression, source: string): readonly Name[] {
  switch (expression.kind) {
    case 'name': {
      const start = source.indexOf(expression.name, expression.span.start);
      return [{ text: expression.name, span: { start, end: start + expression.name.length } }];
    }
    case 'member':
      return [expression.object];
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
