import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAlias, parseDocument, visit } from 'yaml';
import { readYaml } from '../../../server/src/formats/layer-spec/readYaml.ts';
import { scalarValue, type YamlNode } from '../../../server/src/formats/layer-spec/yamlTree.ts';

/** The node as JavaScript values; mappings as lists of pairs, so that order and repeated keys show. */
function plainValue(node: YamlNode | undefined): unknown {
  switch (node?.kind) {
    case undefined:
      return null;
    case 'unreadable':
      return 'unreadable';
    case 'scalar':
      return scalarValue(node);
    case 'list':
      return node.items.map(({ value }) => plainValue(value));
    case 'map':
      return Object.fromEntries(node.entries.map(({ key, value }) => [key.text, plainValue(value)]));
  }
}

/** What the YAML library makes of a text: its value, or that it refuses it or uses what layer specs do not. */
function reference(text: string): { readonly value: unknown } | 'refused' | 'unused' {
  const document = parseDocument(text, { logLevel: 'silent', prettyErrors: false });
  if (document.errors.length > 0 || document.warnings.length > 0) return 'refused';
  let unused = /^(---|\.\.\.|%)/m.test(text);
  visit(document, (_, node) => {
    if (isAlias(node)) unused = true;
    else if (typeof node === 'object' && node !== null && 'range' in node) {
      if (
        ('anchor' in node && node.anchor !== undefined) ||
        ('tag' in node && String(node.tag).startsWith('!'))
      ) {
        unused = true;
      }
      if ('type' in node && /^BLOCK/.test(String(node.type))) unused = true;
    }
  });
  return unused ? 'unused' : { value: document.toJS() };
}

describe('reads what the YAML library reads', () => {
  it.each([
    ['a: 1'],
    ['a: 1\nb: two\nc: 3.5\nd: true\ne: null\nf: ~\ng:\n'],
    ['layers:\n  - a: GELU()\n  - b: Linear(8)\n'],
    ['layers:\n- a: GELU()\n- b: Linear(8)\nname: x\n'],
    ['a: # comment\n  b: 1 # comment\n  # comment\n  c: 2#not a comment\n'],
    ['dims: { batch: 8, d: 4*d, e: }\n'],
    ['dims: {\n  batch: 8,\n  # comment\n  d: 768, # comment\n}\n'],
    ['outputs: [a, b.c, "d", \'e\']\n'],
    ['outputs: []\nscenario: {}\n'],
    ['- a\n-\n- - b\n  - c\n-   d: 1\n    e: 2\n'],
    ["a: \"x \\\" \\n \\u00e9 # no comment\"\nb: 'it''s'\n"],
    ['"a": 1\n\'b c\': 2\n'],
    ['a: Conv2d(3,\n    64,\n\n    kernel_size=7)\nb: 1\n'],
    ['a:\n  Linear(\n  8)\n'],
    ['a: "one\n  two\n\n  three"\n'],
    ['q, k, v: split(3)\nattention(d, heads=8) from x, y to z: 1\n'],
    ['a: b:c\nd: http://x\n'],
    ['\uFEFFa: 1\r\nb:\r\n  - c\r\n'],
    ['  a: 1\n  b: 2\n'],
    ['---\na: 1\n'],
    ['a: -1\nb: - \nc: +3\nd: 1e3\ne: .5\nf: 0x10\n'],
    ['a: ? b\n'],
    ['? a\n'],
    ['a: [b, c: d]\n'],
    ['a: {b}\n'],
  ])('%j', (text) => {
    const { root, problems } = readYaml(text);
    const theirs = reference(text.replace(/^---\n/, ''));
    if (theirs === 'refused') expect(problems).not.toEqual([]);
    else if (theirs !== 'unused' && problems.length === 0) expect(plainValue(root)).toEqual(theirs.value);
  });

  const lines = fc.constantFrom(
    'layers:',
    '  - a: GELU()',
    '  - b: Linear(8, 4*d) * 2 from x, y # comment',
    '- c: add(a, b)',
    '    - d: GELU()',
    'dims: { batch: 8, seq: 4*d }',
    'dims: {',
    '  batch: 8,',
    '}',
    '  d: 768',
    '    e: "f"',
    'name: x',
    'name: "x',
    'key:',
    '# comment',
    '',
    '  # comment',
    '   kernel_size=3)',
    'word',
    '  word',
    'outputs: [a, b]',
    '  -',
    '  - ',
    'a: b: c',
  );

  it('and refuses what it refuses, in any mixture of lines', () => {
    let compared = 0;
    fc.assert(
      fc.property(fc.uniqueArray(lines, { maxLength: 7 }), (chosen) => {
        // The library lets a brace pass that closes nothing.
        const opened = chosen.indexOf('dims: {');
        fc.pre(!chosen.includes('}') || (opened >= 0 && chosen.indexOf('}') > opened));
        const text = chosen.join('\n');
        const { root, problems } = readYaml(text);
        const theirs = reference(text);
        if (theirs === 'unused') return;
        if (theirs === 'refused') expect(problems, text).not.toEqual([]);
        // YAML takes a dash on a deeper line for text that goes on, and lets a key between braces go over lines; in a
        // layer spec these are an item in the wrong place and a comma left out.
        else if (problems.some(({ message }) => /list item|unexpected content|indent|`[,:]`/.test(message))) {
          expect(text).toMatch(/\n +-|\{\n/);
        } else {
          expect(problems, text).toEqual([]);
          expect(plainValue(root), text).toEqual(theirs.value);
          compared += 1;
        }
      }),
      { numRuns: 3000 },
    );
    expect(compared).toBeGreaterThan(300);
  });
});
