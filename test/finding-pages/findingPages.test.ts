/**
 * Every finding has a page, and what the pages state is so: the finding appears on the line, its fix takes it away,
 * and the healthy example has none.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findingThresholds, isThresholdName } from '../../server/src/model/findingThresholds.ts';
import { issueCodes } from '../../server/src/model/issueCodes.ts';
import { fencesOf, statementsOf } from '../spec-pages/specPage.ts';
import { checkFindings, clusterOf } from './findingPage.ts';

const folder = join(import.meta.dirname, '../../docs/findings');
const names = Object.keys(issueCodes).flatMap((code) =>
  code.startsWith('findings/') ? [code.slice('findings/'.length)] : [],
);

it('every page explains a finding', () => {
  const pages = readdirSync(folder).map((file) => file.replace(/\.md$/, ''));
  expect(pages.toSorted()).toEqual(names.toSorted());
});

describe.each(names)('%s', (name) => {
  const path = join(folder, `${name}.md`);
  const page = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const fences = fencesOf(page);
  const cluster = clusterOf(page);

  it('shows the finding, and a configuration without any', () => {
    const stated = fences.map(({ text }) => text.split('\n').flatMap(statementsOf));
    expect(stated.flat().filter(({ text }) => text.startsWith(`[findings/${name}]`))).not.toEqual([]);
    expect(stated.filter((statements) => statements.length === 0)).not.toEqual([]);
  });

  it.each(fences.map((fence) => [fence.line, fence] as const))('the example at line %i', (_, fence) => {
    const { stated, found } = checkFindings(fence, cluster);
    expect(found).toEqual(stated);
  });

  it('shows its readers no statements', () => {
    const rendered = page.replace(/<!--[\s\S]*?-->/g, '');
    expect(rendered).not.toMatch(/# (?:warning|note|fix|error):/);
  });

  it('states its threshold', () => {
    const usual = isThresholdName(name) ? `${findingThresholds[name].default * 100} %` : '';
    expect(page).toContain(usual);
    expect(page.includes('`--threshold')).toBe(isThresholdName(name));
  });
});

it('fails a page that states what is not so, or leaves a finding out', () => {
  const [fence] = fencesOf(`\`\`\`yaml
inputs: { x: "float32[64, 4096]" }
layers:
  - fc: Linear(4096) # warning: [findings/launch-bound] "no such words" # fix: "Use fp16"
scenario: { cluster: t4, precision: bf16, optimizer: sgd }
\`\`\`
`);
  if (fence === undefined) throw new Error('no fence was found');
  const { stated, found } = checkFindings(fence);
  expect(stated).toHaveLength(2);
  expect(found.slice(0, 2)).toEqual(['line 4 warning: is not so', 'line 4 fix: belongs to no finding']);
  expect(found[2]).toMatch(/^line 5 unstated warning: \[findings\/unsupported-precision\]/);
});
