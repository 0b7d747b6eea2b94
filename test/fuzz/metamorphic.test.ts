/**
 * The same model written otherwise costs the same: nodes in any order, fields in any order and among unknown ones,
 * other names. And names of any characters change nothing but the names in what is shown.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import { renderCsv } from '../../server/src/estimate/report/renderCsv.ts';
import { renderHtml } from '../../server/src/estimate/report/renderHtml.ts';
import { renderMarkdown } from '../../server/src/estimate/report/renderMarkdown.ts';
import { renderTable } from '../../server/src/estimate/report/renderTable.ts';
import type { Report } from '../../server/src/estimate/report/report.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { leavesFolder } from '../../server/src/formats/onnx/readTensor.ts';
import { printOnnxText } from '../../server/src/formats/onnx-text/printOnnxText.ts';
import { documentSymbols } from '../../server/src/language/documentSymbols.ts';
import { hover } from '../../server/src/language/hover.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import { viewOnnxText } from '../../server/src/language/viewOnnxText.ts';
import {
  encodeModel,
  joinBytes,
  type ModelDescription,
  type NodeDescription,
  stringField,
  varintField,
} from '../support/onnxBytes.ts';

const runs = { numRuns: 60 };

/** A sound model of branches: each node reads one or two values before it, in layers named as exporters name them. */
const soundModel: fc.Arbitrary<ModelDescription> = fc
  .array(
    fc.record({
      kind: fc.constantFrom('MatMul', 'Relu', 'Add', 'Transpose'),
      one: fc.nat(),
      other: fc.nat(),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((steps) => ({
    graph: {
      name: 'model',
      inputs: { v0: 'float[N,8,8]' },
      outputs: { [`v${steps.length}`]: 'float[N,8,8]' },
      initializers: steps.flatMap(({ kind }, index) =>
        kind === 'MatMul' ? [{ name: `w${index}`, type: 'float[8,8]' }] : [],
      ),
      nodes: steps.map(({ kind, one, other }, index): NodeDescription => {
        const from = (back: number): string => `v${index - (back % Math.min(index + 1, 4))}`;
        const inputs = { MatMul: [from(one), `w${index}`], Add: [from(one), from(other)] };
        return {
          type: kind,
          name: `/block.${index % 3}/${kind}_${index}`,
          inputs: kind === 'MatMul' || kind === 'Add' ? inputs[kind] : [from(one)],
          outputs: [`v${index + 1}`],
          ...(kind === 'Transpose' ? { attributes: { perm: [0, 2, 1] } } : {}),
        };
      }),
    },
  }));

const estimateOf = (bytes: Uint8Array, name = 'model.onnx'): ModelEstimate =>
  estimateModel(openModel(byteSourceOfBuffer(bytes), name), [{ batch: 4, cluster: 'dgx-h100', gpus: 8 }]);

function reportOf({ opened, training, cost, issues }: ModelEstimate): Report {
  if (training === undefined || cost === undefined) throw new Error(issues[0]?.message);
  return makeReport(opened, training.analysis, cost, issues);
}

/**
 * What does not hang on the order in which branches are computed. The type of a module is that of its most telling
 * operator, of which the first wins.
 */
function work({ model, totals, layers }: Report) {
  const ofLayer = ({ name, parameters, output, flops, bytes }: Report['layers'][number]) => ({
    ...{ name, parameters, output, flops, bytes },
  });
  const sorted = layers.map(ofLayer).sort((left, right) => (left.name < right.name ? -1 : 1));
  return { parameters: model.parameters, flops: totals.flops, layers: sorted };
}

const shuffled = <Item>(items: readonly Item[], random: () => number): Item[] => {
  const ordered = [...items];
  for (let index = ordered.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    const [left, right] = [ordered[index], ordered[other]];
    if (left === undefined || right === undefined) continue;
    ordered[index] = right;
    ordered[other] = left;
  }
  return ordered;
};

/** A generator that `seed` fixes: Park and Miller, 1988. */
function numbersOf(seed: number): () => number {
  let state = (seed % 2147483646) + 1;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}

test('nodes in any order cost the same, as bytes and as text', () => {
  fc.assert(
    fc.property(soundModel, fc.nat(), (model, seed) => {
      const nodes = shuffled(model.graph.nodes ?? [], numbersOf(seed));
      const other = estimateOf(encodeModel({ ...model, graph: { ...model.graph, nodes } }));
      const expected = work(reportOf(estimateOf(encodeModel(model))));
      expect(work(reportOf(other))).toEqual(expected);
      if (other.opened.onnx === undefined) throw new Error('no tree');
      const text = new TextEncoder().encode(printOnnxText(other.opened.onnx).text);
      expect(work(reportOf(estimateOf(text, 'model.onnxtxt')))).toEqual(expected);
    }),
    runs,
  );
});

/** Fields that hold messages of which fields may be moved too, by the path of field numbers to them. */
const messages: ReadonlySet<string> = new Set(['7', '7.1', '7.5', '7.11', '7.12', '7.1.5', '8']);

/** The same message with its fields in another order, those of one number in theirs, and unknown ones between them. */
function moved(bytes: Uint8Array, random: () => number, path = ''): Uint8Array {
  const fields = new Map<number, Uint8Array[]>();
  for (let start = 0; start < bytes.length; ) {
    const { value: tag, end: afterTag } = varintAt(bytes, start);
    const { value: length, end: afterNumber } = varintAt(bytes, afterTag);
    const number = tag >> 3;
    const wireType = tag & 7;
    const fixed = wireType === 5 ? 4 : wireType === 1 ? 8 : 0;
    const end = wireType === 2 ? afterNumber + length : fixed > 0 ? afterTag + fixed : afterNumber;
    const inner = path === '' ? `${number}` : `${path}.${number}`;
    const content = bytes.subarray(afterNumber, end);
    const field = messages.has(inner)
      ? stringOf(number, moved(content, random, inner))
      : bytes.subarray(start, end);
    fields.set(number, [...(fields.get(number) ?? []), field]);
    start = end;
  }
  const turns = shuffled(
    [...fields].flatMap(([number, list]) => list.map(() => number)),
    random,
  );
  return joinBytes(
    turns.flatMap((number) => {
      const field = fields.get(number)?.shift() ?? new Uint8Array();
      const unknown = [varintField(900, 7), stringField(901, 'what newer versions write')];
      return random() < 0.2 ? [unknown[Math.floor(random() * 2)] ?? field, field] : [field];
    }),
  );
}

const stringOf = (number: number, content: Uint8Array): Uint8Array => {
  const empty = stringField(number, '');
  const length: number[] = [];
  for (let left = content.length; ; left >>= 7) {
    length.push(left > 127 ? (left & 127) | 128 : left);
    if (left <= 127) break;
  }
  return joinBytes([empty.subarray(0, -1), Uint8Array.from(length), content]);
};

function varintAt(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let at = start, shift = 0; ; at += 1, shift += 7) {
    const byte = bytes[at] ?? 0;
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return { value, end: at + 1 };
  }
}

test('protobuf fields in any order, unknown ones between them, are the same model', () => {
  fc.assert(
    fc.property(soundModel, fc.nat(), (model, seed) => {
      const bytes = encodeModel(model);
      const other = reportOf(estimateOf(moved(bytes, numbersOf(seed))));
      const odd = new Set(['onnx/unknown-field']);
      const known = other.findings.filter(({ code }) => !odd.has(code));
      expect({ ...other, findings: known }).toEqual(reportOf(estimateOf(bytes)));
    }),
    runs,
  );
});

test('names that several nodes bear, and names that none bears, change no cost', () => {
  fc.assert(
    fc.property(
      soundModel,
      fc.array(fc.constantFrom('', 'same', '/same'), { minLength: 12 }),
      (model, names) => {
        const nodes = (model.graph.nodes ?? []).map((node, index) => ({ ...node, name: names[index] ?? '' }));
        const bare = nodes.map((node) => ({ ...node, name: '' }));
        const flops = (given: readonly NodeDescription[]) =>
          work(reportOf(estimateOf(encodeModel({ ...model, graph: { ...model.graph, nodes: given } }))))
            .flops;
        expect(flops(nodes)).toEqual(flops(bare));
      },
    ),
    runs,
  );
});

describe('names of any characters', () => {
  const oddPart = fc.constantFrom(
    ...[
      '<img src=x onerror=alert(1)>',
      '</code><script>',
      '&lt;',
      '`',
      '```',
      '\n```\n# x',
      '|',
      '\\|',
      '**b**',
    ],
    ...[
      '[a](javascript:b)',
      '\u001b[2J',
      '\u001b]8;;http://x\u0007',
      '\u202e',
      '\u2067',
      '\u200f',
      '\r\n',
      '\n',
    ],
    ...[
      '\t',
      '\u2028',
      '\u0000',
      '\ud800',
      '"',
      '""',
      ',',
      ';',
      '=1+1',
      '@x',
      '+1',
      '-1',
      '$&',
      '%s',
      '\\',
      '{{x}}',
    ],
    ...['é', '漢字', '😀', 'שלום', ' ', '.', '::', '#'],
  );
  const oddName = fc.array(oddPart, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''));

  /** The model with `odd` in each of its names, so that they stay different, and a plain word of like length there. */
  const renamed = (model: ModelDescription, odd: string): ModelDescription => {
    const value = (name: string): string => `${odd}${name}`;
    const record = (types: Readonly<Record<string, string>> = {}): Record<string, string> =>
      Object.fromEntries(Object.entries(types).map(([name, type]) => [value(name), type]));
    const { graph } = model;
    return {
      graph: {
        name: value('g'),
        inputs: record(graph.inputs),
        outputs: record(graph.outputs),
        initializers: (graph.initializers ?? []).map((tensor) => ({
          ...tensor,
          name: value(tensor.name ?? ''),
        })),
        nodes: (graph.nodes ?? []).map((node, index) => ({
          ...node,
          name: `n${odd.replaceAll(/[/.]/g, '_')}${index}`,
          inputs: (node.inputs ?? []).map(value),
          outputs: (node.outputs ?? []).map(value),
        })),
      },
    };
  };

  const count = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length;
  const unsafe = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

  test('stay one line, one cell and one word in every rendering, hover and outline', () => {
    fc.assert(
      fc.property(soundModel, oddName, (model, odd) => {
        const plain = estimateOf(encodeModel(renamed(model, 'plain')));
        const other = estimateOf(encodeModel(renamed(model, odd)));
        const [report, oddReport] = [reportOf(plain), reportOf(other)];
        expect(oddReport.totals.flops).toEqual(report.totals.flops);
        expect(oddReport.totals.time).toEqual(report.totals.time);
        const shape = (text: string, ...patterns: readonly RegExp[]): readonly number[] => [
          text.split('\n').length,
          ...patterns.map((pattern) => count(text, pattern)),
        ];
        const same = (render: (given: Report) => string, ...patterns: readonly RegExp[]): void => {
          expect(shape(render(oddReport), ...patterns)).toEqual(shape(render(report), ...patterns));
          expect(render(oddReport).replaceAll('\n', '')).not.toMatch(unsafe);
        };
        same((given) => renderHtml(given), /</g, />/g);
        same((given) => renderTable(given));
        same(
          (given) => renderMarkdown(given).replaceAll(/`[^`\n]*`/g, '`code`'),
          /(?<!\\)\|/g,
          /^```/gm,
          /(?<!\\)</g,
        );
        same(renderMarkdown, /(?<!\\)\|/g);
        expect(recordsOf(renderCsv(oddReport))).toEqual(recordsOf(renderCsv(report)));
        const [shown, oddShown] = [shownOf(plain), shownOf(other)];
        expect(oddShown.fences).toEqual(shown.fences);
        for (const line of [...oddShown.lines, ...oddShown.names]) expect(line).not.toMatch(unsafe);
      }),
      runs,
    );
  });

  /** How many cells each record of a CSV has (RFC 4180). */
  function recordsOf(text: string): readonly number[] {
    const records: number[] = [];
    let cells = 1;
    let quoted = false;
    for (const letter of text.replaceAll('\r\n', '\n')) {
      if (letter === '"') quoted = !quoted;
      else if (quoted) continue;
      else if (letter === ',') cells += 1;
      else if (letter === '\n') {
        records.push(cells);
        cells = 1;
      }
    }
    return records;
  }

  /** How often a block of code begins or ends: at a fence that is at least as long as the one that began it. */
  function fencesOf(markdown: string): number {
    let open = 0;
    let fences = 0;
    for (const line of markdown.split('\n')) {
      const length = /^ {0,3}(`{3,})/.exec(line)?.[1]?.length ?? 0;
      if (length === 0 || length < open) continue;
      open = open > 0 ? 0 : length;
      fences += 1;
    }
    return fences;
  }

  /** What an editor shows of a model: how often a code block opens or closes in each hover, and all lines of text. */
  function shownOf(estimate: ModelEstimate) {
    const { onnx } = estimate.opened;
    if (onnx === undefined) throw new Error('no tree');
    const view = viewOnnxText({ ...printOnnxText(onnx), valueLines: new Map() }, estimate);
    const hovers = view.rows.map((row) => hover(view, { line: row.line, character: 0 })?.markdown ?? '');
    return {
      fences: hovers.map(fencesOf),
      lines: [
        ...hovers.flatMap((markdown) => markdown.split('\n')),
        ...inlayHints(view, 0, view.text.lines.length).map(({ text }) => text),
      ],
      names: documentSymbols(view).flatMap(({ name, detail }) => [name, detail]),
    };
  }
});

test('a path of external data leaves the folder exactly where its steps climb out of it', () => {
  const step = fc.constantFrom('..', '.', '', 'a', 'b c', '...', '..a', '%2e%2e');
  const path = fc
    .array(fc.tuple(step, fc.constantFrom('/', '\\')), { minLength: 1, maxLength: 8 })
    .map((steps) =>
      steps
        .map(([part, separator]) => `${part}${separator}`)
        .join('')
        .slice(0, -1),
    );
  fc.assert(
    fc.property(path, (given) => {
      let depth = 0;
      let left = /^[\\/]/.test(given);
      for (const part of given.split(/[\\/]/)) {
        depth += part === '..' ? -1 : part === '' || part === '.' ? 0 : 1;
        left ||= depth < 0;
      }
      expect(leavesFolder(given)).toBe(left);
    }),
    { numRuns: 2000 },
  );
});
