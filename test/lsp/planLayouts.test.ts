/** A plan asked for in the editor: layouts with what they take, applied to the scenario, with the step that was said. */

import { afterEach, describe, expect, it } from 'vitest';
import { applyEdits } from '../../server/src/language/textEdit.ts';
import { offsetAt, splitLines } from '../../server/src/language/textLines.ts';
import type { Platform } from '../../server/src/lsp/platform.ts';
import { nextTurn } from '../../server/src/node/nextTurn.ts';
import {
  type PlanLayoutsParams,
  type PlanLayoutsResult,
  type PlanProgressParams,
  placeScenarioChange,
  planLayouts,
  planProgress,
  type ScenarioChangePlace,
} from '../../server/src/protocol.ts';
import { startTestServer, type TestClient } from './testServer.ts';

let client: TestClient | undefined;
afterEach(async () => {
  await client?.stop();
  client = undefined;
});

const uri = 'file:///models/small.layers.yaml';
const body = `inputs:
  tokens: int64[batch, 512]
blocks:
  layer:
    - attention: MultiheadAttention(1024, 16)
    - sum: add(attention, input)
    - up: Linear(1024, 4096)
    - act: GELU()
    - down: Linear(4096, 1024)
    - out: add(down, sum)
layers:
  - wte: Embedding(32000, 1024)
  - h: layer() * 4
  - head: Linear(1024, 32000, bias=False)
`;
const own = 'scenario:\n  cluster: dgx-h100\n  gpus: 64\n  nodes: 8\n  accumulate: 2\n';

async function open(
  text: string,
  settings: Record<string, unknown> = {},
  platform: Partial<Platform> = {},
): Promise<TestClient> {
  client = await startTestServer({ settings, platform, initialization: { hasCommands: true } });
  await client.open(uri, 'layer-spec', text);
  return client;
}

const asked: PlanLayoutsParams = {
  uri,
  gpus: [8],
  globalBatch: 64,
  goal: 'fastest',
  keepsFramework: false,
};

const plan = (
  { connection }: TestClient,
  more: Partial<PlanLayoutsParams> = {},
): Promise<PlanLayoutsResult> =>
  connection.sendRequest<PlanLayoutsResult>(planLayouts, { ...asked, ...more });

const lensOf = async ({ connection }: TestClient): Promise<string> => {
  const lenses = await connection.sendRequest<readonly { command: { title: string } }[]>(
    'textDocument/codeLens',
    { textDocument: { uri } },
  );
  return lenses.map(({ command }) => command.title).join('\n');
};

function planned(result: PlanLayoutsResult) {
  if (result.kind !== 'planned') throw new Error(result.message);
  return result;
}

describe('a plan', () => {
  it('lists layouts with what they take, why they lose, and launchers', async () => {
    const server = await open(`${body}${own}`);
    const seen: PlanProgressParams[] = [];
    server.connection.onNotification(planProgress, (params: PlanProgressParams) => {
      seen.push(params);
    });
    const { searched, layouts } = planned(await plan(server));
    expect(searched).toMatch(/^\d+ layouts costed, \d+ fit$/);
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.map(({ costed }) => costed)).toEqual(
      seen.map(({ costed }) => costed).toSorted((one, other) => one - other),
    );
    const [best, ...others] = layouts;
    expect(best).toMatchObject({
      gpus: 8,
      why: expect.stringMatching(/^The next, [a-z-]+, takes .* longer a step/),
    });
    expect(best?.launchers.map(({ launcher }) => launcher)).toContain('layercost report');
    for (const { costs, why, gpus } of others) {
      expect(gpus).toBe(8);
      expect(costs).toMatch(/^[\d.]+ (?:µs|ms|s) · [\d.]+ [KMG]iB · [\d.,]+ GPU-seconds$/);
      expect(why).toMatch(/^\+[\d.]+ (?:µs|ms|s) of /);
    }
  });

  it.each([
    ['a scenario of its own', own, {}],
    ['settings', '', { cluster: 'dgx-h100', gpus: 64, nodes: 8, batch: 2 }],
  ] as const)('has the step of the scenario that it is applied to: %s', async (_, scenario, settings) => {
    const text = `${body}${scenario}`;
    const server = await open(text, settings);
    const { layouts } = planned(await plan(server));
    for (const [index, { change, costs, layout }] of layouts.slice(0, 5).entries()) {
      const place = await server.connection.sendRequest<ScenarioChangePlace>(placeScenarioChange, {
        uri,
        change,
      });
      expect(place.kind).toBe(scenario === '' ? 'settings' : 'text');
      if (place.kind === 'text') {
        const lines = splitLines(text);
        const edits = place.edits.map(({ range, newText }) => ({
          span: { start: offsetAt(lines, range.start), end: offsetAt(lines, range.end) },
          text: newText,
        }));
        const changed = applyEdits(text, edits);
        expect(changed).toContain('global-batch: 64');
        expect(changed).toMatch(/parallel: .*micro-batch=/);
        expect(changed).not.toMatch(/nodes|accumulate/);
        await server.change(uri, index + 2, changed);
      } else
        await server.changeSettings({
          ...settings,
          models: { 'small.layers.yaml': change },
        });
      const step = costs.split(' · ')[0] ?? '';
      expect([layout, await lensOf(server)]).toEqual([layout, expect.stringContaining(step)]);
      // Back to what was planned for.
      if (place.kind === 'text') await server.change(uri, index + 102, text);
    }
  });

  it('keeps the framework of the scenario where that is asked', async () => {
    const server = await open(`${body}${own}  framework: "megatron,distributed-optimizer"\n`);
    const { layouts } = planned(await plan(server, { keepsFramework: true }));
    expect(layouts.length).toBeGreaterThan(1);
    for (const { change } of layouts) expect(change.framework).toMatch(/^megatron,distributed-optimizer/);
  });

  it('chooses among numbers of GPUs and takes another cluster', async () => {
    const server = await open(`${body}${own}`);
    const { layouts } = planned(await plan(server, { gpus: [4, 8, 2], goal: 'fewest', cluster: 'dgx-a100' }));
    expect(layouts[0]).toMatchObject({ gpus: 2, change: { cluster: 'dgx-a100', gpus: 2, globalBatch: 64 } });
    expect([...new Set(layouts.slice(1).map(({ gpus }) => gpus))]).toEqual([2, 4, 8]);
  });

  it.each([
    ['GPUs that nothing divides', own, { gpus: [11], globalBatch: 7 }, /^No layout fits; use more GPUs/],
    ['inference', `${own}  mode: inference\n`, {}, /^Layouts are planned for training/],
    ['a model with an error', 'layers: [', {}, /cannot be costed/],
  ])('says why there is none: %s', async (_, scenario, more, message) => {
    const server = await open(scenario === 'layers: [' ? scenario : `${body}${scenario}`);
    expect(await plan(server, more)).toEqual({ kind: 'none', message: expect.stringMatching(message) });
  });

  it('says that steps are lower bounds where a layer is unknown', async () => {
    const server = await open(`${body.replace('GELU()', 'Mystery()')}${own}`);
    const { searched, layouts } = planned(await plan(server));
    expect(searched).toMatch(/\. Parts of the model are unknown: times and memory are lower bounds$/);
    expect(layouts[0]?.costs).toMatch(/^≥ /);
  });

  it('ends when it is cancelled, before four more layouts are costed', async () => {
    const server = await open(`${body}${own}`);
    const { CancellationTokenSource } = await import('vscode-languageserver');
    const source = new CancellationTokenSource();
    let said = 0;
    server.connection.onNotification(planProgress, () => {
      said += 1;
      source.cancel();
    });
    await expect(
      server.connection.sendRequest(planLayouts, { ...asked, gpus: [8, 16, 32, 64] }, source.token),
    ).rejects.toThrow(/cancelled/);
    // A message is sent for every four.
    expect(said).toBe(1);
  });

  it('computes no further step once it is cancelled', async () => {
    let turns = 0;
    const counted = {
      nextTurn: () => {
        turns += 1;
        return nextTurn();
      },
    };
    const server = await open(`${body}${own}`, {}, counted);
    await lensOf(server);
    const before = turns;
    await plan(server, { gpus: [64] });
    // Whoever runs steps takes a turn after each.
    const whole = turns - before;
    const { CancellationTokenSource } = await import('vscode-languageserver');
    const source = new CancellationTokenSource();
    const asking = server.connection.sendRequest(planLayouts, { ...asked, gpus: [64] }, source.token);
    source.cancel();
    await expect(asking).rejects.toThrow(/cancelled/);
    const atEnd = turns;
    expect(atEnd - before - whole).toBeLessThan(whole / 10);
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
    await lensOf(server);
    expect(turns).toBe(atEnd);
  });
});
