/** A framework as one text: what it says, where each part stands, and what is wrong with it. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { labelFramework, printFramework, readFrameworkText } from '../../server/src/formats/frameworkText.ts';

it.each([
  ['pytorch-ddp', 'pytorch-ddp', {}],
  [' mxnet , servers = 4 ,staged-vars', 'mxnet', { servers: '4', 'staged-vars': 'true' }],
  ['./ours.yaml,a=b=c', './ours.yaml', { a: 'b=c' }],
])('reads %s', (text, name, options) => {
  const { choice, problems, ...spans } = readFrameworkText(text);
  expect({ choice, problems }).toEqual({ choice: { name, options }, problems: [] });
  const written = [spans.name, ...spans.options.values()].map(({ start, end }) => text.slice(start, end));
  expect(written).toEqual(text.split(',').map((piece) => piece.trim()));
});

const example = 'a name, then options, such as `pytorch-ddp,bucket-mb=50`';

/** What is wrong, and the piece of the text that is. */
it.each([
  ['', '', `the name is missing: write ${example}`],
  [',bucket-mb=5', '', `the name is missing: write ${example}`],
  ['bucket-mb=5', 'bucket-mb=5', `\`bucket-mb=5\` is where the name belongs: write ${example}`],
  ['mxnet,', '', 'nothing follows `mxnet,`: write an option, such as `bucket-mb=50`, or remove the comma'],
  [
    'mxnet,sync,,servers=2',
    '',
    'nothing follows `sync,`: write an option, such as `bucket-mb=50`, or remove the comma',
  ],
  ['mxnet, =5', '=5', `\`=5\` has no name: write ${example}`],
  ['mxnet,servers= ', 'servers=', `\`servers=\` has no value: write ${example}`],
  ['mxnet,servers=2,servers=4', 'servers=4', '`servers` is given twice, as 2 and as 4: remove one'],
])('says what is wrong with "%s"', (text, piece, message) => {
  const { problems } = readFrameworkText(text);
  expect(problems.map((problem) => problem.message)).toEqual([message]);
  expect(problems.map(({ span }) => text.slice(span.start, span.end))).toEqual([piece]);
});

it('reads back what it prints, and survives any text', () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
  fc.assert(
    fc.property(word, fc.dictionary(word, word), (name, options) => {
      expect(readFrameworkText(printFramework({ name, options })).choice).toEqual({ name, options });
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', ',', '=', ' ', '"', '\n') }), (text) => {
      const { problems } = readFrameworkText(text);
      for (const { span } of problems) expect(span.start <= span.end && span.end <= text.length).toBe(true);
    }),
  );
});

it.each([
  [{ name: 'pytorch-ddp', options: {} }, 'pytorch-ddp'],
  [{ name: 'deepspeed-zero', options: { stage: '1' } }, 'deepspeed-zero,stage=1'],
  [
    { name: 'megatron', options: { 'distributed-optimizer': 'true', 'overlap-grad-reduce': 'true' } },
    'megatron',
  ],
])('%o in little room', (framework, label) => {
  expect(labelFramework(framework)).toBe(label);
});
