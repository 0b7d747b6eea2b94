/** Half-written texts: every feature answers at every place, whatever stands there. */

import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { diagnostics } from '../../../server/src/language/diagnostics.ts';
import { layerSpecFixes } from '../../../server/src/language/layer-spec/fixes/layerSpecFixes.ts';
import { layerSpecFeatures } from '../../../server/src/language/layer-spec/layerSpecFeatures.ts';
import { readSpecText } from '../../../server/src/language/layer-spec/specText.ts';
import { applyEdits } from '../../../server/src/language/textEdit.ts';
import { viewOf } from '../fixture.ts';

function askEverything(source: string, offsets: Iterable<number>): void {
  const view = viewOf(source);
  const features = layerSpecFeatures(source);
  for (const offset of offsets) {
    for (const { span } of features.complete?.(offset, view) ?? []) {
      expect(span.start).toBeLessThanOrEqual(span.end);
      expect(source.slice(span.start, span.end)).not.toContain('\n');
    }
    features.signatureHelp?.(offset);
    features.hover?.(offset, view);
    features.definition?.(offset);
    features.references?.(offset, true);
    features.rename?.(offset, 'renamed');
    const spans = features.selection?.(offset) ?? [];
    for (const [index, { start, end }] of spans.entries()) {
      const inner = spans[index - 1] ?? { start: offset, end: offset };
      expect([start <= inner.start, end >= inner.end]).toEqual([true, true]);
    }
  }
  const tokens = features.tokens?.() ?? [];
  for (const [index, { span }] of tokens.entries()) {
    expect(span.start).toBeGreaterThanOrEqual(tokens[index - 1]?.span.end ?? 0);
  }
  features.format?.(0, Number.MAX_SAFE_INTEGER);
  for (const { edits } of layerSpecFixes(readSpecText(source), view, diagnostics(view), viewOfEdited)) {
    expect(applyEdits(source, edits)).not.toBe(source);
  }
}

const viewOfEdited = (source: string) => viewOf(source).estimate;

const samples = resolve(import.meta.dirname, '../../../samples');
const files = readdirSync(samples).filter((name) => name.endsWith('.layers.yaml'));

it.each(files)('answers at the end of prefixes of %s, and all over it', (name) => {
  const source = readFileSync(resolve(samples, name), 'utf8');
  for (let end = 0; end <= source.length; end += 61) askEverything(source.slice(0, end), [end]);
  askEverything(
    source,
    Array.from({ length: 40 }, (_, index) => Math.floor((index * source.length) / 40)),
  );
});

it('answers on any text', () => {
  const piece = fc.constantFrom(
    ...['dims:', 'inputs:', 'blocks:', 'layers:', 'outputs:', 'scenario:', 'models:', 'include:'],
    ...[
      '\n',
      '  ',
      '    ',
      '- ',
      'a',
      'b',
      'd',
      ': ',
      'Linear',
      'add',
      'concat',
      'Conv',
      '(',
      ')',
      ', ',
      '=',
      '*',
      '#',
    ],
    ...[
      '"',
      "'",
      '{',
      '}',
      '[',
      ']',
      '-',
      '3',
      ' from ',
      '.',
      ' frozen',
      ' precision=',
      'float32[',
      'cluster',
      'é',
    ],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const source = pieces.join('');
      askEverything(source, [0, Math.floor(source.length / 2), source.length]);
    }),
    { numRuns: 200 },
  );
});
