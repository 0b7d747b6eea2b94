/** Views of documents that were not used for long are let go of, and made again when they are asked for. */

import { expect, test } from 'vitest';
import { recentDocuments } from '../../server/src/lsp/recentDocuments.ts';
import { startTestServer } from './testServer.ts';

const large = 6_000;

test.each<[string, readonly [string, number][], readonly string[]]>([
  ['few small ones stay', ['a', 'b', 'c', 'd', 'e'].map((uri) => [uri, 10]), []],
  ['the oldest of large ones goes', ['a', 'b', 'c', 'd', 'e'].map((uri) => [uri, large]), ['a']],
  ['four stay, however large', ['a', 'b', 'c', 'd'].map((uri) => [uri, 100 * large]), []],
  ['one that is used again stays', ['a', 'b', 'c', 'd', 'a', 'e'].map((uri) => [uri, large]), ['b']],
])('%s', (_, uses, gone) => {
  const recent = recentDocuments(4 * large, 4);
  expect(uses.flatMap(([uri, operators]) => recent.use(uri, operators))).toEqual(gone);
});

/** A text counts as 300 operators beside its own: of 700, four are 4,000. */
test.each<[string, number, number, readonly number[], readonly string[]]>([
  ['as many as are kept stay', 4_000, 1, [700, 700, 700, 700], []],
  ['one more operator, and the oldest goes', 4_000, 1, [700, 700, 700, 701], ['0']],
  ['of a large one, all others go', 4_000, 1, [10, 10, 5_000], ['1', '0']],
  ['the newest stays, however large', 4_000, 1, [5_000], []],
  ['and as many as are always kept', 4_000, 2, [10, 10, 5_000], ['0']],
  ['without operators a text has its own', 600, 1, [0, 0, 0], ['0']],
])('%s', (_, most, fewest, operators, gone) => {
  const recent = recentDocuments(most, fewest);
  expect(operators.flatMap((count, index) => recent.use(`${index}`, count))).toEqual(gone);
});

test('one that was closed takes no room, and one that was let go of is not let go of again', () => {
  const recent = recentDocuments(4_000, 1);
  for (const uri of ['a', 'b', 'c', 'd']) recent.use(uri, 700);
  recent.forget('b');
  expect(recent.use('e', 700)).toEqual([]);
  expect(recent.use('f', 700)).toEqual(['a']);
  expect(recent.use('g', 700)).toEqual(['c']);
});

test('a document that was let go of shows the same, and follows settings', async () => {
  const client = await startTestServer();
  const spec = (width: number): string =>
    `dims: { batch: 1 }\ninputs:\n  x: float32[batch, 8]\nlayers:\n  - fc: Linear(8, ${width})\n`;
  const uri = (index: number): string => `file:///m/${index}.layers.yaml`;
  for (let index = 0; index < 80; index += 1) {
    await client.open(uri(index), 'layer-spec', spec(16 + index));
    await client.hints(uri(index));
  }
  const first = await client.hints(uri(0));
  expect(first.map(({ text }) => text)).toEqual([expect.stringContaining(' FLOP ·')]);
  await client.changeSettings({ cluster: 'k80-10gbe' });
  expect((await client.hints(uri(1))).map(({ text }) => text)).toEqual([expect.stringContaining('FLOP')]);
  expect((await client.hints(uri(0))).map(({ text }) => text)).not.toEqual(first.map(({ text }) => text));
  await client.stop();
});
