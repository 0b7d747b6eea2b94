/** Scenarios as a person changes them in the editor: dimensions, choices of pickers and fixes, and where they are written. */

import { afterEach, describe, expect, it } from 'vitest';
import { applyEdits } from '../../server/src/language/textEdit.ts';
import { offsetAt, splitLines } from '../../server/src/language/textLines.ts';
import {
  type DimensionChoice,
  listDimensions,
  placeScenarioChange,
  type ScenarioChange,
  type ScenarioChangePlace,
} from '../../server/src/protocol.ts';
import { encodeModel } from '../support/onnxBytes.ts';
import { layersAddress, startTestServer, type TestClient, textAddress } from './testServer.ts';

let client: TestClient | undefined;
afterEach(async () => {
  await client?.stop();
  client = undefined;
});
const start = async (settings: Record<string, unknown> = {}): Promise<TestClient> => {
  client = await startTestServer({ settings, initialization: { hasCommands: true } });
  return client;
};

interface Lens {
  readonly command: { readonly title: string; readonly command: string };
}
interface Action {
  readonly title: string;
  readonly isPreferred?: boolean;
  readonly command?: { readonly command: string; readonly arguments: readonly unknown[] };
  readonly edit?: { readonly changes: Readonly<Record<string, readonly { newText: string }[]>> };
}

/** A model whose batch and sequence an exporter left open, opened as its text or as layers. */
async function openDynamic(
  { files, connection, open }: TestClient,
  shown: 'text' | 'layers' = 'text',
): Promise<string> {
  const address = 'file:///models/bert/model.onnx';
  files.set(
    address,
    encodeModel({
      graph: {
        name: 'bert',
        inputs: { x: 'float[batch_size,sequence_length,64]' },
        outputs: { y: 'float[batch_size,sequence_length,64]' },
        initializers: [{ name: 'w', type: 'float[64,64]' }],
        nodes: [{ type: 'MatMul', name: '/fc/MatMul', inputs: ['x', 'w'], outputs: ['y'] }],
      },
    }),
  );
  const uri = shown === 'text' ? textAddress(address) : layersAddress(address);
  const { text } = await connection.sendRequest<{ text: string }>('workspace/textDocumentContent', { uri });
  await open(uri, shown === 'text' ? 'onnx-text' : 'layer-spec', text);
  return uri;
}

const lensesOf = ({ connection }: TestClient, uri: string): Promise<readonly Lens[]> =>
  connection.sendRequest('textDocument/codeLens', { textDocument: { uri } });

const actionsOf = ({ connection }: TestClient, uri: string): Promise<readonly Action[]> =>
  connection.sendRequest('textDocument/codeAction', {
    textDocument: { uri },
    range: { start: { line: 0, character: 0 }, end: { line: 1000, character: 0 } },
    context: { diagnostics: [] },
  });

describe('a model with dynamic axes', () => {
  it.each(['text', 'layers'] as const)(
    'asks for its dimensions, and every number appears: %s',
    async (as) => {
      const server = await start();
      const uri = await openDynamic(server, as);
      const before = (await lensesOf(server, uri)).map(({ command }) => command);
      expect(before[0]?.title).toBe('cost unknown');
      expect(before[2]).toMatchObject({
        title: 'Set dimensions: sequence_length',
        command: 'layercost.setDimensions',
      });
      const shown = (await server.diagnostics(uri, 1)).map(({ message }) => String(message));
      expect(shown).toContain(
        'Dimension `sequence_length` has no value, so costs that depend on it are unknown\nSet it with `Layercost: Set Dimensions…`',
      );
      expect(shown.filter((message) => message.includes('--'))).toEqual([]);
      const dimensions = { sequence_length: 512, batch_size: 8 };
      const fix = (await actionsOf(server, uri)).find(({ title }) => title.startsWith('Set'));
      expect(fix).toMatchObject({
        title: 'Set `batch_size` to 8, `sequence_length` to 512',
        isPreferred: true,
        command: { command: 'layercost.changeScenario', arguments: [uri, { dimensions }, null] },
      });
      await server.changeSettings({ models: { 'bert/model.onnx': { dimensions } } });
      const after = (await lensesOf(server, uri)).map(({ command }) => command.title);
      // 2 · 8 samples · 512 tokens · 64 · 64, and as much for the gradient of the weight.
      expect(after.filter((title) => title.includes('≥'))).toEqual([]);
      expect(after[1]).toContain('batch 8');
      // What helps, as an editor offers no fix in a read-only text.
      expect(after.slice(2)).toEqual(['Quick fixes…', '4.10 k parameters · 67.1 MFLOP']);
    },
  );

  it('lists what its axes usually are, and what holds', async () => {
    const server = await start({ models: { 'model.onnx': { dimensions: { sequence_length: 128 } } } });
    const uri = await openDynamic(server);
    expect(await server.connection.sendRequest<DimensionChoice[]>(listDimensions, { uri })).toEqual([
      { name: 'batch_size', proposal: 8, meaning: 'batch' },
      { name: 'sequence_length', value: 128, proposal: 512, meaning: 'sequence' },
    ]);
  });
});

describe('settings of one model', () => {
  it.each([
    [{ 'bert/model.onnx': { batch: 3 } }, 'batch 3'],
    [{ '/models/bert/model.onnx': { batch: 3 }, 'model.onnx': { batch: 4 } }, 'batch 3'],
    [{ 'other/model.onnx': { batch: 3 } }, 'batch 2'],
    [{ 'el.onnx': { batch: 3 } }, 'batch 2'],
    [{ 'model.onnx': { batch: 3, precision: 'fp19', cluster: './own.json', no: 1 } }, 'batch 3'],
  ])('%j', async (models, lens) => {
    const server = await start({ batch: 2, dimensions: { sequence_length: 4 }, models });
    const uri = await openDynamic(server);
    expect((await lensesOf(server, uri))[1]?.command.title).toContain(lens);
    if ('no' in (Object.values(models)[0] ?? {}))
      expect(server.log.filter((line) => line.includes('is ignored'))).toHaveLength(3);
  });
});

describe('a choice is written', () => {
  const body = 'inputs:\n  x: float32[n, 512]\nlayers:\n  - a: Linear(512, 512)\n';
  it.each<[string, string, ScenarioChange, string | 'settings']>([
    [
      'into a scenario',
      'scenario:\n  cluster: t4\n',
      { cluster: 'dgx-h100' },
      'scenario:\n  cluster: dgx-h100\n',
    ],
    [
      'beside what it has',
      'scenario:\n  cluster: t4\n',
      { batch: 4 },
      'scenario:\n  cluster: t4\n  batch: 4\n',
    ],
    [
      'on one line',
      'scenario: { cluster: t4 }\n',
      { precision: 'fp16' },
      'scenario: { cluster: t4, precision: fp16 }\n',
    ],
    [
      'with options',
      'scenario: { cluster: t4 }\n',
      { framework: 'pytorch-ddp,bucket-mb=50' },
      'scenario: { cluster: t4, framework: "pytorch-ddp,bucket-mb=50" }\n',
    ],
    [
      'without what does not fit',
      'scenario:\n  gpus: 64 # eight nodes\n  cluster: dgx-h100\n',
      { cluster: 't4', gpus: null },
      'scenario:\n  cluster: t4\n',
    ],
    [
      'without the first of a line',
      'scenario: { gpus: 64, cluster: t4 }\n',
      { gpus: null },
      'scenario: { cluster: t4 }\n',
    ],
    [
      'without the last of a line',
      'scenario: { cluster: t4, gpus: 64 }\n',
      { gpus: null },
      'scenario: { cluster: t4 }\n',
    ],
    [
      'as the dim that is the batch',
      'dims:\n  n: 8\nscenario: { cluster: t4 }\n',
      { batch: 4 },
      'dims:\n  n: 4\nscenario: { cluster: t4 }\n',
    ],
    ['as a dim without a value', 'dims:\n  n:\n', { dimensions: { n: 8 } }, 'dims:\n  n: 8\n'],
    ['into the settings where there is no scenario', '', { cluster: 't4' }, 'settings'],
    [
      'into the settings with a dimension beside what is of a scenario',
      'dims:\n  n: 8\n',
      { dimensions: { n: 4 }, cluster: 't4' },
      'settings',
    ],
  ])('%s', async (_, head, change, wanted) => {
    const server = await start();
    const uri = 'file:///models/small.layers.yaml';
    const text = `${head}${body}`;
    await server.open(uri, 'layer-spec', text);
    const place = await server.connection.sendRequest<ScenarioChangePlace>(placeScenarioChange, {
      uri,
      change,
    });
    if (place.kind === 'settings') {
      expect([wanted, place.file]).toEqual(['settings', uri]);
      return;
    }
    const lines = splitLines(text);
    const edits = place.edits.map(({ range, newText }) => ({
      span: { start: offsetAt(lines, range.start), end: offsetAt(lines, range.end) },
      text: newText,
    }));
    expect(applyEdits(text, edits)).toBe(`${wanted}${body}`);
  });

  // Both texts of a binary model are read-only, though its layers are written as a spec.
  it.each([
    ['text', { batch: 4 }],
    ['layers', { batch: 4 }],
    ['text', { dimensions: { sequence_length: 512 } }],
    ['layers', { dimensions: { sequence_length: 512 } }],
  ] as const)('into the settings of a binary model: %s, %j', async (as, change) => {
    const server = await start();
    const uri = await openDynamic(server, as);
    expect(await server.connection.sendRequest(placeScenarioChange, { uri, change })).toEqual({
      kind: 'settings',
      file: 'file:///models/bert/model.onnx',
    });
  });
});

describe('findings of models without a scenario of their own', () => {
  const net = `name: "n"
input: "data" input_shape { dim: 4096 dim: 3 dim: 224 dim: 224 }
${Array.from(
  { length: 8 },
  (
    _,
    index,
  ) => `layer { name: "c${index}" type: "Convolution" bottom: "${index === 0 ? 'data' : `c${index - 1}`}" top: "c${index}"
  convolution_param { num_output: 64 kernel_size: 3 pad: 1 } }`,
).join('\n')}
`;
  it('have fixes that set the settings of that model', async () => {
    const server = await start({ cluster: 't4', precision: 'bf16', batch: 64 });
    const uri = 'file:///models/net.prototxt';
    await server.open(uri, 'caffe-prototxt', net);
    const fixes = await actionsOf(server, uri);
    expect(fixes).toContainEqual(
      expect.objectContaining({
        title: expect.stringMatching(/^Use fp16: .* faster/),
        command: expect.objectContaining({
          command: 'layercost.changeScenario',
          arguments: [uri, { precision: 'fp16' }, null],
        }),
      }),
    );
    await server.changeSettings({
      cluster: 't4',
      precision: 'bf16',
      batch: 64,
      models: { 'net.prototxt': { precision: 'fp16' } },
    });
    expect((await actionsOf(server, uri)).filter(({ title }) => title.startsWith('Use fp16'))).toEqual([]);
  });
});
