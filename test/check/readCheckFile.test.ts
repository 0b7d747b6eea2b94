import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readCheckFile } from '../../server/src/check/readCheckFile.ts';

test('a file with all keys', () => {
  const { file, issues } = readCheckFile(`checks:
  resnet:
    model: models/resnet50.onnx
    scenario:
      cluster: dgx-a100
      gpus: 16
      dim: { image: 224, batch: 8 }
      freeze: [stem.*, '!stem.conv']
      run: { samples: 1000, epochs: 2 }
    budgets:
      step: 60 ms, +5 %
      parameters: 25,557,032
    accept: [late-gradient]
    fail-on: warning
`);
  expect(issues).toEqual([]);
  expect(file?.checks).toEqual([
    {
      name: 'resnet',
      model: 'models/resnet50.onnx',
      scenario: [
        { name: 'cluster', value: 'dgx-a100' },
        { name: 'gpus', value: '16' },
        { name: 'dim', value: 'image=224' },
        { name: 'dim', value: 'batch=8' },
        { name: 'freeze', value: 'stem.*' },
        { name: 'freeze', value: '!stem.conv' },
        { name: 'run', value: 'samples=1000,epochs=2' },
      ],
      budgets: [
        {
          quantity: 'step',
          text: '60 ms',
          limit: { kind: 'absolute', value: 0.06 },
          span: expect.anything(),
        },
        { quantity: 'step', text: '+5 %', limit: { kind: 'relative', share: 0.05 }, span: expect.anything() },
        {
          quantity: 'parameters',
          text: '25,557,032',
          limit: { kind: 'absolute', value: 25_557_032 },
          span: expect.anything(),
        },
      ],
      accept: ['late-gradient'],
      failOn: 'warning',
      span: { start: 10, end: 16 },
    },
  ]);
});

/** What is wrong, and the piece of the text that the message points at. */
test.each([
  ['checks: {}', '`checks` is empty; give at least one', 'checks: {}'],
  ['- a', 'The file of checks is a map: give `checks`', '- a'],
  [
    'checks: { a: { model: m, budgets: { step: 60 } } }',
    '`step`: `60` is not an amount such as `60 ms`',
    '60',
  ],
  ['checks: { a: { model: m, budgets: { stepp: 6 ms } } }', '`checks.a.budgets.stepp` is not known', 'stepp'],
  ['checks: { a: { models: m } }', '`checks.a.models` is not known', 'models'],
  [
    'checks: { a: { model: m, accept: [late-gradint] } }',
    '`late-gradint` is not a finding; did you mean `late-gradient`?',
    '[late-gradint]',
  ],
  ['checks: { a: { model: m, fail-on: all } }', '`checks.a.fail-on`', 'all'],
  ['checks: { a: [ }', 'The file of checks is not valid YAML', undefined],
])('%s', (text, message, place) => {
  const { file, issues } = readCheckFile(text);
  expect(file).toBeUndefined();
  const [first] = issues;
  expect(first?.message).toContain(message);
  if (place !== undefined) expect(text.slice(first?.span?.start, first?.span?.end).trim()).toBe(place);
});

test('no text makes it throw', () => {
  const words = fc.constantFrom(
    'checks',
    ':',
    ' ',
    '\n',
    '  ',
    '{',
    '}',
    '[',
    ']',
    'model',
    '&a',
    '*a',
    '!!x',
    'budgets',
    'step',
    '-',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(words).map((all) => all.join('')),
      ),
      (text) => {
        const { file, issues } = readCheckFile(text);
        expect(file === undefined).toBe(issues.length > 0);
      },
    ),
    { numRuns: 500 },
  );
});
