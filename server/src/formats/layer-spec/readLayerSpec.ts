/**
 * Reads a layer spec: YAML for the frame, calls in PyTorch style for the layers.
 *
 * Reading never fails as a whole because of one line: what cannot be read is left out and named by an issue at
 * its place. Nothing is evaluated here; names are looked up when the spec is lowered.
 */

import { type ElementType, elementTypes } from '../../model/elementType.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { parseExpression } from './parseExpression.ts';
import { parseReference } from './parseNames.ts';
import { parseSignature } from './parseSignature.ts';
import { parseTensorType } from './parseTensorType.ts';
import { ReadingMemory } from './readingMemory.ts';
import { readScenario } from './readScenario.ts';
import { readYaml } from './readYaml.ts';
import type {
  LayerCall,
  LayerSpec,
  Name,
  Reference,
  SpecBlock,
  SpecBody,
  SpecDimension,
  SpecInclude,
  SpecInput,
  SpecLayer,
  SpecModel,
} from './syntax.ts';
import type { Parsed } from './tokenCursor.ts';
import type { YamlEntry, YamlNode, YamlScalar } from './yamlTree.ts';

/** Keys of a model, in the order in which they are written. */
export const modelKeys = ['dims', 'inputs', 'blocks', 'layers', 'outputs', 'scenario'] as const;

/** Keys of the top level, in the order in which a spec is written. */
export const specKeys = ['name', 'include', ...modelKeys, 'models'] as const;

/** People write a few hundred lines; lines of a megabyte are no model anyone wrote. */
const longestSpec = 2 ** 20;

export interface ReadSpec {
  /** `undefined` only where the text is too long or not a mapping at all. */
  readonly spec: LayerSpec | undefined;
  readonly issues: readonly Issue[];
}

/** `memory` holds what was read of an earlier state of the text, and then what is read of this one. */
export function readLayerSpec(text: string, memory = new ReadingMemory()): ReadSpec {
  if (text.length > longestSpec) {
    const message = `the layer spec is ${text.length} characters long, more than ${longestSpec}; put what repeats into blocks, or export the model as ONNX`;
    const span = { start: 0, end: 0 };
    return { spec: undefined, issues: [{ code: 'file/unreadable', severity: 'error', message, span }] };
  }
  memory.turnTo(text);
  const reader = new Reader(text, memory);
  const spec = reader.spec();
  return { spec, issues: [...reader.issues].sort((a, b) => (a.span?.start ?? 0) - (b.span?.start ?? 0)) };
}

class Reader {
  readonly issues: Issue[] = [];

  constructor(
    private readonly text: string,
    private readonly memory: ReadingMemory,
  ) {}

  spec(): LayerSpec | undefined {
    const { root, problems } = readYaml(this.text);
    for (const { message, span, duplicate } of problems) {
      this.report(duplicate ? 'spec/duplicate-name' : 'spec/syntax', message, span);
    }
    if (root === undefined) {
      const message = 'the layer spec is empty; it needs `inputs` and `layers`';
      this.report('file/empty', message, { start: 0, end: this.text.length });
      return undefined;
    }
    if (root.kind !== 'map') {
      const message = 'a layer spec is a mapping with the keys `inputs` and `layers`';
      this.report('spec/structure', message, root.span);
      return undefined;
    }
    const entries = this.knownEntries(root.entries, specKeys, 'a layer spec');
    const body = this.body(entries);
    const models = this.models(entries.get('models'));
    this.expectKeys(body, models, root.span.start);
    return {
      ...body,
      name: this.scalarName(entries.get('name')),
      includes: this.includes(entries.get('include')),
      models,
    };
  }

  private body(entries: ReadonlyMap<string, YamlEntry>): SpecBody {
    const { scenario, spans, keySpans } = readScenario(
      this.mappingOf(entries.get('scenario'), 'scenario'),
      this.issues,
    );
    return {
      dims: this.dims(entries.get('dims')),
      inputs: this.inputs(entries.get('inputs')),
      blocks: this.blocks(entries.get('blocks')),
      layers: this.layers(entries.get('layers')),
      outputs: this.outputs(entries.get('outputs')),
      scenario,
      scenarioSpans: spans,
      scenarioKeySpans: keySpans,
      sections: [...entries.values()].map(({ key, value }) => ({
        key: nameOf(key),
        span: { start: key.span.start, end: value?.span.end ?? key.span.end },
      })),
    };
  }

  /** A model needs what goes in and what it is made of, be it at the top level or its own. */
  private expectKeys(body: SpecBody, models: readonly SpecModel[], start: number): void {
    if (models.length === 0 && isLibrary(body)) return;
    for (const [key, example] of Object.entries(neededKeys)) {
      if (has(body, key)) continue;
      if (models.length === 0) {
        this.report('spec/structure', `the layer spec has no \`${key}\`; add ${example}`, {
          start,
          end: start,
        });
      }
      for (const model of models) {
        if (has(model, key)) continue;
        this.report(
          'spec/structure',
          `the model \`${model.name.text}\` has no \`${key}\`; add ${example}`,
          model.name.span,
        );
      }
    }
  }

  private models(entry: YamlEntry | undefined): readonly SpecModel[] {
    const models: SpecModel[] = [];
    for (const { key, value } of this.mappingOf(entry, 'models')) {
      const name = nameOf(key);
      if (!/^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u.test(name.text)) {
        const message = `a model is named by letters, digits, \`_\`, \`-\` and \`.\`, not \`${name.text}\``;
        this.report('spec/structure', message, name.span);
        continue;
      }
      const entries = this.knownEntries(this.mappingOf({ key, value }, name.text), modelKeys, 'a model');
      models.push({
        ...this.body(entries),
        name,
        span: { start: key.span.start, end: value?.span.end ?? key.span.end },
      });
    }
    return models;
  }

  private includes(entry: YamlEntry | undefined): readonly SpecInclude[] {
    return this.scalarsOf(entry, '`include` is the path of a layer spec, or a list of paths').map((node) => ({
      path: { text: node.text, span: node.content },
    }));
  }

  private dims(entry: YamlEntry | undefined): readonly SpecDimension[] {
    const dims: SpecDimension[] = [];
    for (const { key, value } of this.mappingOf(entry, 'dims')) {
      const name = nameOf(key);
      if (!this.isIdentifier(name, 'a dimension')) continue;
      if (value === undefined || isNothing(value)) dims.push({ name, value: undefined });
      else {
        const form = 'a dimension is a number or an expression such as `4*d`';
        dims.push({ name, value: this.parsed(value, parseExpression, form, 'spec/dimension') });
      }
    }
    return dims;
  }

  private inputs(entry: YamlEntry | undefined): readonly SpecInput[] {
    const inputs: SpecInput[] = [];
    for (const { key, value } of this.mappingOf(entry, 'inputs')) {
      const name = nameOf(key);
      if (!this.isIdentifier(name, 'an input')) continue;
      const form = 'an input has a type such as `float32[batch, 3, 224, 224]`';
      if (value === undefined) {
        this.report('spec/structure', form, name.span);
        continue;
      }
      const type = this.parsed(value, parseTensorType, form, 'spec/structure');
      if (type === undefined) continue;
      const { text, span } = type.elementType;
      const elementType = elementTypeOfName(text);
      if (elementType === undefined) {
        const message = `\`${text}\` is not an element type${didYouMean(text, elementTypes)}`;
        this.report('spec/structure', message, span);
      }
      inputs.push({
        name,
        elementType: elementType ?? 'float32',
        elementTypeSpan: span,
        dimensions: type.dimensions,
      });
    }
    return inputs;
  }

  private blocks(entry: YamlEntry | undefined): readonly SpecBlock[] {
    const blocks: SpecBlock[] = [];
    const names = new Set<string>();
    for (const { key, value } of this.mappingOf(entry, 'blocks')) {
      const { result, issues } = parseSignature(this.text, key.content.start, key.content.end);
      this.issues.push(...issues);
      if (result === undefined) continue;
      const { text, span } = result.name;
      if (names.has(text)) {
        this.report('spec/duplicate-name', `a block named \`${text}\` already exists`, span);
        continue;
      }
      names.add(text);
      this.expectDistinct([...result.parameters.map(({ name }) => name), ...result.inputs], text);
      const layers = this.layers({ key, value });
      const end = layers.at(-1)?.span.end ?? value?.span.end ?? key.span.end;
      blocks.push({ ...result, layers, span: { start: span.start, end } });
    }
    return blocks;
  }

  private expectDistinct(names: readonly Name[], block: string): void {
    for (const [index, name] of names.entries()) {
      if (names.findIndex(({ text }) => text === name.text) === index) continue;
      this.report('spec/duplicate-name', `\`${name.text}\` is already a name of \`${block}\``, name.span);
    }
  }

  private layers(entry: YamlEntry | undefined): readonly SpecLayer[] {
    if (entry === undefined) return [];
    const { key, value } = entry;
    if (value?.kind !== 'list') {
      if (value?.kind === 'unreadable') return [];
      this.report(
        'spec/structure',
        `\`${key.text}\` is a list of layers, each \`- name: Layer(…)\`${value?.kind === 'map' ? '; put `- ` before every name' : ''}`,
        value?.span ?? key.span,
      );
      return [];
    }
    const layers: SpecLayer[] = [];
    const names = new Set<string>();
    for (const { value: item, span } of value.items) {
      if (item?.kind !== 'map') {
        if (item?.kind === 'unreadable' || (item?.kind === 'scalar' && item.broken)) continue;
        const written = item?.kind === 'scalar' ? item.text : '';
        this.report('spec/structure', `a layer is written ${layerMeant(written)}`, span);
        continue;
      }
      for (const line of item.entries) {
        const layer = this.layer(line);
        if (layer === undefined) continue;
        for (const name of layer.names) {
          if (names.has(name.text)) {
            const message = `a layer named \`${name.text}\` is already here; give this one another name`;
            this.report('spec/duplicate-name', message, name.span);
          }
          names.add(name.text);
        }
        layers.push(layer);
      }
    }
    return layers;
  }

  private layer({ key, value }: YamlEntry): SpecLayer | undefined {
    const { result: names, issues } = this.memory.parseNames(key.content.start, key.content.end);
    this.issues.push(...issues.map((issue) => ({ ...issue, code: 'spec/structure' as const })));
    const [name] = names ?? [];
    if (names === undefined || name === undefined) return undefined;
    const span = { start: name.span.start, end: value?.span.end ?? key.span.end };
    if (value === undefined || isNothing(value)) {
      const message = `\`${key.text}\` has no call; write one such as \`Linear(768, 3072)\``;
      this.report('spec/call', message, key.span);
      return { name, names, call: undefined, span };
    }
    const form = 'a layer is one call on one line, such as `Linear(768, 3072)`';
    return { name, names, call: this.parsed(value, this.parseCall, form, 'spec/call'), span };
  }

  private readonly parseCall = (_: string, start: number, end: number): Parsed<LayerCall> =>
    this.memory.parseCall(start, end);

  private outputs(entry: YamlEntry | undefined): readonly Reference[] {
    const form = '`outputs` is a list of layer names';
    return this.scalarsOf(entry, form).flatMap(
      (node) => this.parsed(node, parseReference, form, 'spec/structure') ?? [],
    );
  }

  private scalarName(entry: YamlEntry | undefined): Name | undefined {
    if (entry?.value === undefined || entry.value.kind === 'unreadable') return undefined;
    const { value } = entry;
    if (value.kind === 'scalar') return { text: this.textOf(value.content), span: value.content };
    this.report('spec/structure', '`name` is one word or phrase', value.span);
    return undefined;
  }

  /** One scalar or a list of them. */
  private scalarsOf(entry: YamlEntry | undefined, form: string): readonly YamlScalar[] {
    if (entry?.value === undefined) return [];
    const nodes =
      entry.value.kind === 'list'
        ? entry.value.items
        : [entry.value].map((value) => ({ value, span: value.span }));
    return nodes.flatMap(({ value, span }) => {
      if (value?.kind === 'scalar' && !isNothing(value)) return [value];
      if (value?.kind !== 'unreadable') this.report('spec/structure', form, span);
      return [];
    });
  }

  /** Applies a parser to the text of a scalar; the text as written, so that offsets hold. */
  private parsed<Result>(
    node: YamlNode,
    parse: (text: string, start: number, end: number) => Parsed<Result>,
    form: string,
    code: IssueCode,
  ): Result | undefined {
    if (node.kind !== 'scalar') {
      if (node.kind !== 'unreadable') this.report(code, form, node.span);
      return undefined;
    }
    const { result, issues } = parse(this.text, node.content.start, node.content.end);
    if (!node.broken) this.issues.push(...issues.map((issue) => ({ ...issue, code })));
    return result;
  }

  private knownEntries(
    entries: readonly YamlEntry[],
    known: readonly string[],
    what: string,
  ): ReadonlyMap<string, YamlEntry> {
    const found = new Map<string, YamlEntry>();
    for (const entry of entries) {
      const { text, span } = entry.key;
      if (known.includes(text)) found.set(text, entry);
      else {
        this.report('spec/structure', `\`${text}\` is not a key of ${what}${didYouMean(text, known)}`, span);
      }
    }
    return found;
  }

  private mappingOf(entry: YamlEntry | undefined, what: string): readonly YamlEntry[] {
    const value = entry?.value;
    if (value === undefined || value.kind === 'unreadable' || isNothing(value)) return [];
    if (value.kind === 'map') return value.entries;
    this.report('spec/structure', `\`${what}\` is a mapping of names to values`, value.span);
    return [];
  }

  private isIdentifier(name: Name, what: string): boolean {
    if (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name.text)) return true;
    this.report(
      'spec/structure',
      `${what} is named by letters, digits and \`_\`, not \`${name.text}\``,
      name.span,
    );
    return false;
  }

  private textOf({ start, end }: TextSpan): string {
    return this.text.slice(start, end);
  }

  private report(code: IssueCode, message: string, span: TextSpan): void {
    this.issues.push({ code, severity: 'error', message, span });
  }
}

const has = ({ sections }: SpecBody, key: string): boolean =>
  sections.some((section) => section.key.text === key);

/** Keys that a model cannot do without, with what a person may write. */
const neededKeys = {
  inputs: '`inputs: { x: "float32[batch, 768]" }`',
  layers: '`layers:` and below it lines such as `- fc: Linear(768, 3072)`',
} as const;

/** Whether a text holds blocks alone, for other files to include. */
export const isLibrary = (body: SpecBody): boolean =>
  has(body, 'blocks') && !has(body, 'inputs') && !has(body, 'layers');

const nameOf = (key: YamlScalar): Name => ({ text: key.text, span: key.content });

/** Nothing, `~` or `null`. */
const isNothing = (node: YamlNode | undefined): boolean =>
  node === undefined || (node.kind === 'scalar' && !node.quoted && /^(?:~|null|)$/.test(node.text));

/** NumPy's and PyTorch's names: `float32`, `float`, `half`, `long`, … */
function elementTypeOfName(name: string): ElementType | undefined {
  const known = torchNames[name] ?? name;
  return elementTypes.find((type) => type === known && type !== 'undefined');
}

const torchNames: Readonly<Record<string, ElementType>> = {
  float: 'float32',
  double: 'float64',
  half: 'float16',
  long: 'int64',
  int: 'int32',
};

/** The line that a person means who writes an assignment, or a call without a name. */
function layerMeant(written: string): string {
  const [, name, call] = /^(?:self\.)?([A-Za-z_]\w*)\s*=\s*([A-Za-z_][\w.]*\(.*)$/s.exec(written) ?? [];
  if (name !== undefined && call !== undefined && written.length < longestShown) {
    return `with \`:\` behind its name: \`- ${name}: ${call}\``;
  }
  const isCall = /^[A-Za-z_][\w.]*\(.*\)$/s.test(written) && written.length < longestShown;
  return isCall ? `with a name before it: \`- name: ${written}\`` : '`- name: Layer(…)`';
}

/** A longer call is not repeated in a message. */
const longestShown = 80;
