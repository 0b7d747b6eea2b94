/**
 * Reads a layer spec: YAML for the frame, calls in PyTorch style for the layers.
 *
 * Reading never fails as a whole because of one line: what cannot be read is left out and named by an issue at
 * its place. Nothing is evaluated here; names are looked up when the spec is lowered.
 */

import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type ParsedNode,
  parseDocument,
  type Scalar,
} from 'yaml';
import { type ElementType, elementTypes } from '../../model/elementType.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import { didYouMean } from './nearestName.ts';
import {
  type Parsed,
  parseCall,
  parseExpression,
  parseSignature,
  parseTensorType,
} from './parseExpression.ts';
import { readScenario } from './readScenario.ts';
import type { SpecEntry as Entry } from './specEntry.ts';
import type { LayerSpec, Name, SpecBlock, SpecDimension, SpecInput, SpecLayer } from './syntax.ts';

/** Keys of the top level, in the order in which a spec is written. */
export const specKeys = ['name', 'dims', 'inputs', 'blocks', 'layers', 'outputs', 'scenario'] as const;

/** People write a few hundred lines; reading YAML of a megabyte takes seconds in an editor. */
const longestSpec = 2 ** 17;

/** `spec` is `undefined` only where the text is too long or not a mapping at all. */
export function readLayerSpec(text: string): {
  readonly spec: LayerSpec | undefined;
  readonly issues: readonly Issue[];
} {
  if (text.length > longestSpec) {
    const message = `the layer spec is ${text.length} characters long, more than ${longestSpec}; put what repeats into blocks, or export the model as ONNX`;
    const span = { start: 0, end: 0 };
    return { spec: undefined, issues: [{ code: 'file/unreadable', severity: 'error', message, span }] };
  }
  const reader = new Reader(text);
  const spec = reader.spec();
  return { spec, issues: [...reader.issues].sort((a, b) => (a.span?.start ?? 0) - (b.span?.start ?? 0)) };
}

class Reader {
  readonly issues: Issue[] = [];

  constructor(private readonly text: string) {}

  spec(): LayerSpec | undefined {
    const document = this.parseYaml();
    const root = document.contents;
    if (root === null) {
      const span = { start: 0, end: this.text.length };
      const message = 'the layer spec is empty; it needs `inputs` and `layers`';
      this.issues.push({ code: 'file/empty', severity: 'error', message, span });
      return undefined;
    }
    if (!isMap(root)) {
      this.report(
        'spec/structure',
        'a layer spec is a mapping with the keys `inputs` and `layers`',
        spanOf(root),
      );
      return undefined;
    }
    const entries = new Map<string, Entry>();
    for (const entry of this.entries(root, 'a layer spec')) {
      if (!specKeys.some((key) => key === entry.key.text)) {
        this.report(
          'spec/structure',
          `\`${entry.key.text}\` is not a key of a layer spec${didYouMean(entry.key.text, specKeys)}`,
          entry.key.span,
        );
        continue;
      }
      entries.set(entry.key.text, entry);
    }
    const start = spanOf(root).start;
    for (const key of ['inputs', 'layers']) {
      if (!entries.has(key)) {
        this.report('spec/structure', `the layer spec has no \`${key}\``, { start, end: start });
      }
    }
    const { scenario, spans } = readScenario(
      this.mappingOf(entries.get('scenario'), 'scenario'),
      this.issues,
    );
    return {
      name: this.scalarName(entries.get('name')),
      dims: this.dims(entries.get('dims')),
      inputs: this.inputs(entries.get('inputs')),
      blocks: this.blocks(entries.get('blocks')),
      layers: this.layers(entries.get('layers')),
      outputs: this.outputs(entries.get('outputs')),
      scenario,
      scenarioSpans: spans,
    };
  }

  /**
   * The YAML document. Where YAML loses its way (a quote or bracket left open on one line), the line is set aside
   * and the rest is read again, so that the other layers stay.
   */
  private parseYaml(): Document.Parsed {
    let text = this.setAsideOpenLines();
    let document = parse(text);
    const reported = new Set<number>();
    for (let round = 0; document.errors.length > 0; round += 1) {
      for (const error of document.errors) {
        const [start, end] = error.pos;
        if (reported.has(start)) continue;
        reported.add(start);
        const repeated = error.code === 'DUPLICATE_KEY';
        this.report(
          repeated ? 'spec/duplicate-name' : 'spec/syntax',
          repeated ? 'the key is already used in this mapping' : sentence(error.message),
          { start: Math.min(start, this.text.length), end: Math.min(Math.max(end, start), this.text.length) },
        );
      }
      const broken = document.errors.filter((error) => error.code !== 'DUPLICATE_KEY');
      if (broken.length === 0 || round === mostRepairs) break;
      const repaired = withoutLine(text, suspectLine(text, broken[0]?.pos[0] ?? 0));
      if (repaired === text) break;
      const next = parse(repaired);
      // A line is given up only where that saves more than it costs.
      if (next.errors.length >= document.errors.length && round > 0) break;
      text = repaired;
      document = next;
    }
    return document;
  }

  /** A call begins with a letter; a line that opens a quote or bracket instead, and leaves it open, would swallow the rest. */
  private setAsideOpenLines(): string {
    let text = this.text;
    for (const match of this.text.matchAll(/^([^\S\n]*-[^\S\n]*[^\s:#]+:[^\S\n]+)(["'[{].*)$/gm)) {
      const [line, before = '', value = ''] = match;
      if (isClosed(value)) continue;
      const start = match.index + before.length;
      const end = match.index + line.trimEnd().length;
      this.report('spec/syntax', `\`${value[0]}\` is not closed on this line`, { start, end });
      text = withoutLine(text, { start: match.index, end: match.index + line.length });
    }
    return text;
  }

  private dims(entry: Entry | undefined): readonly SpecDimension[] {
    const dims: SpecDimension[] = [];
    for (const { key, value } of this.mappingOf(entry, 'dims')) {
      if (!this.isIdentifier(key, 'a dimension')) continue;
      if (value === null || (isScalar(value) && value.value === null)) {
        dims.push({ name: key, value: undefined });
        continue;
      }
      const expression = this.parsed(
        value,
        parseExpression,
        'a dimension is a number or an expression such as `4*d`',
        'spec/dimension',
      );
      dims.push({ name: key, value: expression });
    }
    return dims;
  }

  private inputs(entry: Entry | undefined): readonly SpecInput[] {
    const inputs: SpecInput[] = [];
    for (const { key, value } of this.mappingOf(entry, 'inputs')) {
      if (!this.isIdentifier(key, 'an input')) continue;
      const form = 'an input has a type such as `float32[batch, 3, 224, 224]`';
      if (value === null) {
        this.report('spec/structure', form, key.span);
        continue;
      }
      const type = this.parsed(value, parseTensorType, form, 'spec/structure');
      if (type === undefined) continue;
      const elementType = elementTypeOfName(type.elementType.text);
      if (elementType === undefined) {
        const { text, span } = type.elementType;
        this.report(
          'spec/structure',
          `\`${text}\` is not an element type${didYouMean(text, elementTypes)}`,
          span,
        );
      }
      inputs.push({ name: key, elementType: elementType ?? 'float32', dimensions: type.dimensions });
    }
    return inputs;
  }

  private blocks(entry: Entry | undefined): readonly SpecBlock[] {
    const blocks: SpecBlock[] = [];
    const names = new Set<string>();
    for (const { key, value } of this.mappingOf(entry, 'blocks')) {
      const { result, issues } = parseSignature(this.text, key.span.start, key.span.end);
      this.issues.push(...issues);
      if (result === undefined) continue;
      if (names.has(result.name.text)) {
        this.report(
          'spec/duplicate-name',
          `a block named \`${result.name.text}\` already exists`,
          result.name.span,
        );
        continue;
      }
      names.add(result.name.text);
      blocks.push({ ...result, layers: this.layers({ key, value }) });
    }
    return blocks;
  }

  private layers(entry: Entry | undefined): readonly SpecLayer[] {
    if (entry === undefined) return [];
    const { key, value } = entry;
    if (value === null || !isSeq(value)) {
      this.report(
        'spec/structure',
        `\`${key.text}\` is a list of layers, each \`- name: Layer(…)\``,
        value === null ? key.span : spanOf(value),
      );
      return [];
    }
    const layers: SpecLayer[] = [];
    const names = new Set<string>();
    for (const item of value.items) {
      if (isMap(item)) {
        for (const line of this.entries(item, 'a layer')) {
          const layer = this.layer(line);
          if (layer === undefined) continue;
          if (names.has(layer.name.text)) {
            this.report(
              'spec/duplicate-name',
              `a layer named \`${layer.name.text}\` is already here; give this one another name`,
              layer.name.span,
            );
          }
          names.add(layer.name.text);
          layers.push(layer);
        }
      } else {
        this.report('spec/structure', 'a layer is written `- name: Layer(…)`', spanOf(item));
      }
    }
    return layers;
  }

  private layer({ key, value }: Entry): SpecLayer | undefined {
    if (!this.isIdentifier(key, 'a layer')) return undefined;
    if (value === null || (isScalar(value) && value.value === null)) {
      this.report(
        'spec/call',
        `\`${key.text}\` has no call; write one such as \`Linear(768, 3072)\``,
        key.span,
      );
      return undefined;
    }
    const call = this.parsed(
      value,
      parseCall,
      'a layer is one call on one line, such as `Linear(768, 3072)`',
      'spec/call',
    );
    if (call === undefined) return undefined;
    return { name: key, call, span: { start: key.span.start, end: spanOf(value).end } };
  }

  private outputs(entry: Entry | undefined): readonly Name[] {
    if (entry === undefined || entry.value === null) return [];
    const nodes = isSeq(entry.value) ? entry.value.items : [entry.value];
    return nodes.flatMap((node) => {
      if (isScalar(node) && typeof node.value === 'string') return [this.nameOf(node)];
      this.report('spec/structure', '`outputs` is a list of layer names', spanOf(node));
      return [];
    });
  }

  private scalarName(entry: Entry | undefined): Name | undefined {
    if (entry === undefined || entry.value === null) return undefined;
    if (isScalar(entry.value)) return this.nameOf(entry.value);
    this.report('spec/structure', '`name` is one word or phrase', spanOf(entry.value));
    return undefined;
  }

  /** Applies a parser to the text of a scalar; the text as written, so that offsets hold. */
  private parsed<Result>(
    node: ParsedNode,
    parse: (text: string, start: number, end: number) => Parsed<Result>,
    form: string,
    code: IssueCode,
  ): Result | undefined {
    if (!isScalar(node) || node.type === 'BLOCK_FOLDED' || node.type === 'BLOCK_LITERAL') {
      this.report(code, form, spanOf(node));
      return undefined;
    }
    const span = contentSpan(node);
    const { result, issues } = parse(this.text, span.start, span.end);
    this.issues.push(...issues.map((issue) => ({ ...issue, code })));
    return result;
  }

  private mappingOf(entry: Entry | undefined, what: string): readonly Entry[] {
    if (entry === undefined || entry.value === null) return [];
    if (isMap(entry.value)) return this.entries(entry.value, `\`${what}\``);
    if (isScalar(entry.value) && entry.value.value === null) return [];
    this.report('spec/structure', `\`${what}\` is a mapping of names to values`, spanOf(entry.value));
    return [];
  }

  private entries(node: ParsedNode, what: string): readonly Entry[] {
    if (!isMap(node)) return [];
    const entries: Entry[] = [];
    for (const pair of node.items) {
      if (!isPair(pair)) continue;
      const { key, value } = pair;
      if (!isScalar(key)) {
        this.report('spec/structure', `a key of ${what} is a name`, spanOf(key));
        continue;
      }
      if (value !== null && isAlias(value)) {
        this.report('spec/structure', 'aliases are not used in layer specs; write the value', spanOf(value));
        continue;
      }
      entries.push({ key: this.nameOf(key), value });
    }
    return entries;
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

  private nameOf(node: Scalar): Name {
    const span = isNodeWithRange(node) ? contentSpan(node) : { start: 0, end: 0 };
    return { text: this.text.slice(span.start, span.end), span };
  }

  private report(code: IssueCode, message: string, span: TextSpan): void {
    this.issues.push({ code, severity: 'error', message, span });
  }
}

const parse = (text: string): Document.Parsed =>
  parseDocument(text, { keepSourceTokens: false, prettyErrors: false, logLevel: 'silent', uniqueKeys: true });

/** Lines given up before the text is taken as it is. */
const mostRepairs = 8;

/** Whether what a value opens, a quote or a bracket, is closed by its end. */
function isClosed(value: string): boolean {
  const text = value.trimEnd();
  if (text.startsWith('"')) return /^"(?:[^"\\]|\\.)*"\s*(?:#.*)?$/.test(text);
  if (text.startsWith("'")) return /^'(?:[^']|'')*'\s*(?:#.*)?$/.test(text);
  let open = 0;
  for (const character of text) {
    if (character === '[' || character === '{') open += 1;
    if (character === ']' || character === '}') open -= 1;
  }
  return open <= 0;
}

/** The line to give up for an error at `offset`: the last one at or before it that has something on it. */
function suspectLine(text: string, offset: number): { readonly start: number; readonly end: number } {
  let end = Math.min(offset, text.length);
  while (end > 0 && text.slice(text.lastIndexOf('\n', end - 1) + 1, lineEnd(text, end)).trim() === '') {
    end = text.lastIndexOf('\n', end - 1);
    if (end < 0) end = 0;
  }
  return { start: end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1, end: lineEnd(text, end) };
}

function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end;
}

/** The text with a line made blank; every other offset keeps its meaning. */
function withoutLine(text: string, line: { readonly start: number; readonly end: number }): string {
  return text.slice(0, line.start) + ' '.repeat(line.end - line.start) + text.slice(line.end);
}

/** YAML's message as the message law wants it: no position, no full stop. */
function sentence(message: string): string {
  const [line = ''] = message.split('\n');
  return line.replace(/ at line \d+.*$/, '').replace(/[.:]\s*$/, '');
}

function spanOf(node: { readonly range?: readonly [number, number, number] | null | undefined }): TextSpan {
  return { start: node.range?.[0] ?? 0, end: node.range?.[1] ?? 0 };
}

/** The characters of a scalar without its quotes. */
function contentSpan(node: Scalar & { readonly range?: readonly [number, number, number] | null }): TextSpan {
  const { start, end } = spanOf(node);
  const quoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE';
  return quoted && end - start >= 2 ? { start: start + 1, end: end - 1 } : { start, end };
}

const isNodeWithRange = (node: Scalar): boolean => Array.isArray(node.range);

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
