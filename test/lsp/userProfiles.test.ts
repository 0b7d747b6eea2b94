/** Which settings name a file, and what such a file is asked for. */

import { expect, test } from 'vitest';
import { clusterFiles, frameworkFiles } from '../../server/src/lsp/userProfiles.ts';

const model = 'file:///m/net.layers.yaml';

function sources(address: string | undefined) {
  const [reads, watched]: [string[], string[]] = [[], []];
  return {
    reads,
    watched,
    read: async (uri: string) => {
      reads.push(uri);
      const issue = { code: 'file/unreadable', severity: 'error', message: 'there is no such file' } as const;
      return { kind: 'failed', issue } as const;
    },
    resolve: async () => address,
    watch: (uri: string) => void watched.push(uri),
  };
}

/** A cluster's name has neither slashes nor an ending. */
test.each([
  ['dgx-a100', false],
  ['mine.json', true],
  ['MINE.JSON', true],
  ['clusters/mine', true],
  ['clusters\\mine', true],
  ['mine.json5', false],
  ['json', false],
  ['', false],
])('the cluster %j names a file: %s', async (setting, isFile) => {
  const given = sources('file:///m/mine.json');
  const found = await clusterFiles(given).of(setting, model);
  expect(found !== undefined).toBe(isFile);
  expect([given.reads.length, given.watched.length]).toEqual(isFile ? [1, 1] : [0, 0]);
});

test('a file is read and watched once, and read again when it changed', async () => {
  const given = sources('file:///m/mine.json');
  const files = clusterFiles(given);
  for (let time = 0; time < 3; time += 1) await files.of('mine.json', model);
  expect([given.reads.length, given.watched.length]).toEqual([1, 1]);
  expect(files.forget('file:///m/mine.json')).toBe(true);
  expect(files.forget('file:///m/other.json')).toBe(false);
  expect((await files.of('mine.json', model))?.issues.map(({ message }) => message)).toEqual([
    'there is no such file',
  ]);
  expect([given.reads.length, given.watched.length]).toEqual([2, 1]);
});

test.each([
  ['cluster', clusterFiles, 'mine.json', 'scenario/unknown-cluster'],
  ['framework', frameworkFiles, 'ours.yaml', 'framework/file'],
] as const)('a path that leads nowhere is an error of the %s', async (name, files, path, code) => {
  const given = sources(undefined);
  expect(await files(given).of(path, model)).toEqual({
    value: undefined,
    issues: [
      {
        code,
        severity: 'error',
        message: `\`layercost.${name}\` is "${path}", which is not a path in this workspace`,
      },
    ],
  });
  expect([given.reads, given.watched]).toEqual([[], []]);
});
