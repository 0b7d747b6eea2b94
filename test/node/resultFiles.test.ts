/** Results are files of the workspace: written once each, read back whole, and never believed where they are damaged. */

import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compareResults } from '../../server/src/benchmark/compareResults.ts';
import { measurementsOf, type SavedResult } from '../../server/src/benchmark/savedResult.ts';
import { seconds } from '../../server/src/model/units.ts';
import { keepResult } from '../../server/src/node/keepResult.ts';
import { readResults, removeResult, workspaceOf, writeResult } from '../../server/src/node/resultFiles.ts';
import { measuredScenario, measurements } from '../benchmark/measurements.ts';
import { smallPlan } from '../benchmark/smallPlan.ts';

let folder = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'layercost-results-')));
  mkdirSync(join(folder, '.git'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function keep(changes: Partial<Parameters<typeof keepResult>[0]> = {}): string {
  const kept = keepResult({
    path: join(folder, 'models/net.layers.yaml'),
    plan: smallPlan(),
    scenario: measuredScenario,
    outcome: { measurements },
    ...changes,
  });
  if (kept === undefined || !('path' in kept)) throw new Error(JSON.stringify(kept));
  return kept.path;
}

function onlyResult(): SavedResult {
  const { results, unreadable } = readResults(folder);
  expect(unreadable).toEqual([]);
  expect(results).toHaveLength(1);
  const [first] = results;
  if (first === undefined) throw new Error('no result');
  return first.result;
}

describe('a result', () => {
  it('is a file of the workspace that has all that was measured', () => {
    expect(keep()).toMatch(/[\\/]\.layercost[\\/]benchmarks[\\/]net-layers-yaml-\d{8}-\d{6}\.json$/);
    const result = onlyResult();
    expect(result).toMatchObject({ file: 'models/net.layers.yaml', endedEarly: null });
    expect(measurementsOf(result, ['fc', 'act'])).toEqual({
      origin: measurements.origin,
      layers: measurements.layers,
      step: measurements.step,
      notes: [],
    });
    expect(result.step).toEqual(measurements.wholeStep);
    expect(result.notMeasured).toEqual([{ layer: 'act', reason: 'the runner does not know it' }]);
  });

  it('is of layers by their position, whatever they are called now', () => {
    keep();
    expect([...measurementsOf(onlyResult(), ['projection', 'act']).layers.keys()]).toEqual(['projection']);
  });

  it('says why its run ended early', () => {
    keep({ outcome: { measurements, failure: { kind: 'cancelled', message: 'cancelled', log: '' } } });
    expect(onlyResult().endedEarly).toBe('cancelled');
  });

  it('names one model of several', () => {
    keep({ model: 'tiny' });
    expect(onlyResult().file).toBe('models/net.layers.yaml#tiny');
  });

  it('is not made of nothing', () => {
    const failure = { kind: 'crash', message: 'crashed', log: '' } as const;
    const run = { path: join(folder, 'a.onnx'), plan: smallPlan(), scenario: measuredScenario };
    expect(keepResult({ ...run, outcome: { failure } })).toBeUndefined();
    expect(readResults(folder)).toEqual({ results: [], unreadable: [] });
  });

  it('replaces none of the same second', () => {
    keep();
    const { results } = readResults(folder);
    const [first] = results;
    if (first === undefined) throw new Error('no result');
    expect(writeResult(folder, first.result)).toBe(first.path.replace('.json', '-2.json'));
    expect(readResults(folder).results).toHaveLength(2);
    removeResult(first);
    expect(readResults(folder).results.map(({ id }) => id)).toEqual([`${first.id}-2`]);
  });
});

describe('files that are no results', () => {
  it.each([
    ['{', 'it is not JSON'],
    ['{"version": 2}', /no benchmark result of this version \(version: /],
    ['[]', /no benchmark result/],
  ])('%s', (text, reason) => {
    const path = keep();
    const broken = path.replace('net-', 'broken-');
    writeFileSync(broken, text);
    const { results, unreadable } = readResults(folder);
    expect(results).toHaveLength(1);
    expect(unreadable).toEqual([{ path: broken, reason: expect.stringMatching(reason) }]);
  });

  it('have negative times', () => {
    const path = keep();
    writeFileSync(path, readFileSync(path, 'utf8').replace('"forward": 0.1', '"forward": -0.1'));
    expect(readResults(folder).unreadable[0]?.reason).toContain('layers.0.forward');
  });
});

it('nothing is written through a link out of the workspace', () => {
  const outside = mkdtempSync(join(tmpdir(), 'layercost-outside-'));
  symlinkSync(outside, join(folder, '.layercost'));
  expect(
    keepResult({
      path: join(folder, 'a.onnx'),
      plan: smallPlan(),
      scenario: measuredScenario,
      outcome: { measurements },
    }),
  ).toEqual({ problem: expect.stringContaining('is a link out of the workspace; remove it') });
  rmSync(outside, { recursive: true });
});

it('the workspace is the nearest folder above that has results or a repository, else the folder of the model', () => {
  const nested = join(folder, 'sub/models');
  mkdirSync(nested, { recursive: true });
  expect(workspaceOf(nested)).toBe(folder);
  mkdirSync(join(folder, 'sub/.layercost'));
  expect(workspaceOf(nested)).toBe(join(folder, 'sub'));
});

it('two results are compared by the names of layers', () => {
  keep();
  const first = onlyResult();
  const [layer] = first.layers;
  if (layer === undefined) throw new Error('no layer');
  const second: SavedResult = {
    ...first,
    layers: [
      { ...layer, forward: seconds(0.05) },
      { position: 1, name: 'new', type: 'ReLU', forward: seconds(0.01) },
    ],
  };
  const { rows, step } = compareResults(first, second);
  expect(rows.map(({ name, forward }) => [name, forward])).toEqual([
    ['fc', { first: 0.1, second: 0.05, ratio: 0.5 }],
    ['new', { first: null, second: 0.01, ratio: null }],
  ]);
  expect(step).toEqual({ first: 0.5, second: 0.5, ratio: 1 });
  expect(compareResults(second, first).rows.map(({ name }) => name)).toEqual(['fc', 'new']);
  // A timer too coarse for a layer has nothing to compare with.
  const nothing = { ...first, layers: [{ ...layer, forward: seconds(0) }] };
  expect(compareResults(nothing, second).rows[0]?.forward).toEqual({ first: 0, second: 0.05, ratio: null });
});
