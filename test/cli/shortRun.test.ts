import { execFileSync } from 'node:child_process';
import { expect, it, test } from 'vitest';
import { optionsOfShortRun, optionsOfStart } from '../../server/src/cli/shortRun.ts';

test.each([
  ['20.11.0', 4],
  ['22.1.0', 3],
  ['24.21.0', 3],
  ['26.10.0', 3],
  ['18.19.0', 0],
  ['99.0.0', 0],
])('Node %s gets %i options', (version, count) => {
  expect(optionsOfShortRun(version)).toHaveLength(count);
});

it('this Node knows those it gets', () => {
  const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  for (const option of optionsOfShortRun(process.versions.node)) {
    const name = option.replace(/^--(no-)?/, '').replace(/=.*$/, '');
    expect(known).toMatch(new RegExp(`^ *--${name} `, 'm'));
  }
});

it('a server goes back to what V8 does by itself', () => {
  const { first, after } = optionsOfStart(process.versions.node);
  expect(after).toHaveLength(first.length);
  const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  for (const option of after) expect(known).toMatch(new RegExp(`default: ${option}$`, 'm'));
});

test.each(['18.19.0', '22.1.0', '99.0.0'])('a server in Node %s starts as V8 does by itself', (version) => {
  expect(optionsOfStart(version)).toEqual({ first: [], after: [] });
});
