/** Open documents: which views are made, for what cause, which are kept, and which a newer text supersedes. */

import { expect, test } from 'vitest';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import { viewsOf } from '../../server/src/language/modelView.ts';
import type { Cause } from '../../server/src/lsp/documentState.ts';
import { includedFiles } from '../../server/src/lsp/includedFiles.ts';
import { type OpenDocuments, openDocuments } from '../../server/src/lsp/openDocuments.ts';
import { recentDocuments } from '../../server/src/lsp/recentDocuments.ts';
import { turnOfTimer } from '../../server/src/lsp/runSteps.ts';
import { defaultSettings, type Settings } from '../../server/src/lsp/settings.ts';

interface Shown {
  readonly uri: string;
  readonly cause: Cause;
  /** Lines with a cost; `undefined` for a document that is not a model. */
  readonly rows: number | undefined;
}

interface Opened {
  readonly documents: OpenDocuments;
  /** Opens or edits a document. */
  write(uri: string, text: string, cause?: Cause, languageId?: string): void;
  /** Of what was shown, in order. */
  readonly shown: Shown[];
  readonly failures: unknown[];
  /** Documents whose settings were asked for: once for each view that is begun. */
  readonly begun: string[];
  /** Addresses of binary models that were forgotten. */
  readonly forgotten: string[];
  settings: Settings;
  editorAsks: boolean;
  settingsOf: (uri: string) => Promise<Settings>;
}

/** Two documents are kept, however small they are. */
function open(): Opened {
  const texts = new Map<string, TextDocument>();
  const nothing = { of: async () => undefined, forget: () => false };
  const opened: Opened = {
    documents: openDocuments(
      {
        files: {
          open: () => Promise.reject(new Error('no file')),
          forget: (uri) => void opened.forgotten.push(uri),
        },
        settingsOf: (uri) => opened.settingsOf(uri),
        clusters: nothing,
        frameworks: nothing,
        includes: includedFiles({
          read: () => Promise.reject(new Error('no file')),
          openText: () => undefined,
          watch: () => {},
        }),
        keptResults: undefined,
        nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
        editorAsks: () => opened.editorAsks,
        onView: ({ uri }, view, cause) => void opened.shown.push({ uri, cause, rows: view?.rows.length }),
        onFailure: (error) => void opened.failures.push(error),
      },
      recentDocuments(1, 2),
    ),
    write: (uri, text, cause = 'other', languageId = 'layer-spec') => {
      const known = texts.get(uri);
      const document =
        known === undefined
          ? TextDocument.create(uri, languageId, 1, text)
          : TextDocument.update(known, [{ text }], known.version + 1);
      texts.set(uri, document);
      opened.documents.touch(document, cause);
    },
    shown: [],
    failures: [],
    begun: [],
    forgotten: [],
    settings: { ...defaultSettings, batch: 1 },
    editorAsks: true,
    settingsOf: async (uri) => {
      opened.begun.push(uri);
      return opened.settings;
    },
  };
  return opened;
}

/** As many layers as rows are shown. */
const spec = (layers: number): string =>
  `inputs:\n  x: float32[batch, 8]\nlayers:\n${Array.from({ length: layers }, (_, index) => `  - l${index}: Linear(8, 8)\n`).join('')}`;
const one = 'file:///m/one.layers.yaml';
/** Work that waits for timers only, has ended after some of them. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 40; turn += 1) await turnOfTimer();
};

const causes: readonly (readonly [name: string, touches: readonly Cause[], told: readonly Cause[]])[] = [
  ['opening is no keystroke', ['other'], ['other']],
  ['a keystroke is one', ['other', 'keystroke'], ['other', 'keystroke']],
  ['a request for a view is told apart', ['other', 'asked'], ['other', 'asked']],
  ['a change elsewhere is told each time', ['other', 'other'], ['other', 'other']],
  ['a keystroke after one is one', ['other', 'asked', 'keystroke'], ['other', 'asked', 'keystroke']],
];

test.each(causes)('%s', async (_, touches, told) => {
  const { documents, write, shown } = open();
  for (const [index, cause] of touches.entries()) {
    write(one, spec(index + 1), cause);
    await documents.view(one);
    await settled();
  }
  expect(shown).toEqual(told.map((cause, index) => ({ uri: one, cause, rows: index + 1 })));
});

/** An editor that was not asked to refresh yet has to be, whatever comes before the view is there. */
test.each<[Cause, Cause, Cause]>([
  ['other', 'keystroke', 'other'],
  ['other', 'asked', 'other'],
  ['keystroke', 'other', 'other'],
  ['asked', 'keystroke', 'asked'],
  ['keystroke', 'keystroke', 'keystroke'],
])('%s and then %s before the view is there is one view, for %s', async (first, second, told) => {
  const { documents, write, shown } = open();
  write(one, spec(1));
  await documents.view(one);
  await settled();
  write(one, spec(2), first);
  write(one, spec(3), second);
  expect((await documents.view(one))?.rows).toHaveLength(3);
  await settled();
  expect(shown.slice(1)).toEqual([{ uri: one, cause: told, rows: 3 }]);
});

test('what was begun for an older text is dropped, and who waits gets the view of the newer', async () => {
  const { documents, write, shown, begun } = open();
  write(one, spec(1));
  const waiting = documents.view(one);
  while (begun.length === 0) await turnOfTimer();
  write(one, spec(4), 'keystroke');
  expect((await waiting)?.rows).toHaveLength(4);
  await settled();
  expect([begun, shown]).toEqual([[one, one], [{ uri: one, cause: 'other', rows: 4 }]]);
});

test('a document that is not open has no view, and neither has one that is no model', async () => {
  const { documents, write, shown } = open();
  expect(await documents.view(one)).toBeUndefined();
  expect(documents.shownView(one)).toBeUndefined();
  const text = 'file:///m/notes.txt';
  write(text, 'notes', 'other', 'plaintext');
  expect(await documents.view(text)).toBeUndefined();
  await settled();
  expect(shown).toEqual([{ uri: text, cause: 'other', rows: undefined }]);
});

test('a document that is closed while it is costed is not shown, and nobody waits for it', async () => {
  const { documents, write, shown, begun } = open();
  write(one, spec(1));
  const waiting = documents.view(one);
  while (begun.length === 0) await turnOfTimer();
  documents.close(one);
  expect(await waiting).toBeUndefined();
  await settled();
  expect(shown).toEqual([]);
  // Closing twice, as when the editor shuts down, is nothing.
  documents.close(one);
});

test('one that is closed before its turn is not costed', async () => {
  const { documents, write, begun } = open();
  write(one, spec(1));
  documents.close(one);
  await settled();
  expect(begun).toEqual([]);
});

test('one that is opened again is another document: it has no good numbers of before', async () => {
  const { documents, write } = open();
  write(one, spec(3));
  expect((await documents.view(one))?.rows).toHaveLength(3);
  documents.touch(TextDocument.create(one, 'layer-spec', 1, spec(2)), 'other');
  expect(documents.shownView(one)).toBeUndefined();
  expect((await documents.view(one))?.rows).toHaveLength(2);
});

test('a failure is told, and nobody waits for ever', async () => {
  const opened = open();
  const broken = new Error('the settings broke');
  opened.settingsOf = () => Promise.reject(broken);
  opened.write(one, spec(1));
  expect(await opened.documents.view(one)).toBeUndefined();
  expect([opened.failures, opened.shown]).toEqual([[broken], []]);
});

const halfWritten = spec(2).replace('l0: Linear(8, 8)', 'l0: Linear(8,');

test('while a line is half written, the numbers of the last whole text stay', async () => {
  const { documents, write } = open();
  write(one, spec(2));
  const whole = await documents.view(one);
  expect(whole?.stale).not.toBe(true);
  write(one, halfWritten, 'keystroke');
  const half = await documents.view(one);
  expect(half?.stale).toBe(true);
  expect(half?.estimate.cost).toBe(whole?.estimate.cost);
});

test('numbers of another scenario are not kept in the place of those that are known now', async () => {
  const opened = open();
  // A line that cannot be costed is no half-written one.
  const unknown = spec(2).replace('l0: Linear(8, 8)', 'l0: Linear(9, 8)');
  opened.write(one, spec(2));
  await opened.documents.view(one);
  opened.settings = { ...opened.settings, batch: 64 };
  opened.write(one, unknown, 'other');
  const view = await opened.documents.view(one);
  expect([view?.stale, view?.estimate.scenario?.batchPerGpu]).toEqual([undefined, 64]);
});

/** Three, of which two are kept. */
const [oldest, second, newest] = [1, 2, 3].map((index) => `file:///m/${index}.layers.yaml`) as [
  string,
  string,
  string,
];

async function openThree(): Promise<Opened> {
  const opened = open();
  for (const uri of [oldest, second, newest]) {
    opened.write(uri, spec(1));
    await opened.documents.view(uri);
    await settled();
  }
  return opened;
}

test('the view of a document that was not used for long is let go of, and made again when asked for', async () => {
  const { documents, begun, shown } = await openThree();
  expect([begun.length, shown.length]).toEqual([3, 3]);
  expect(documents.shownView(oldest)).toBeUndefined();
  expect(documents.shownView(second)?.rows).toHaveLength(1);
  // What is there is not made again.
  await documents.view(newest);
  expect(begun).toHaveLength(3);
  expect((await documents.view(oldest))?.rows).toHaveLength(1);
  await settled();
  expect(begun.slice(3)).toEqual([oldest]);
  expect(shown.slice(3)).toEqual([{ uri: oldest, cause: 'asked', rows: 1 }]);
  // It is one of the two used last now, and the second is not.
  await documents.view(oldest);
  expect(begun).toHaveLength(4);
  expect([oldest, second, newest].map((uri) => documents.shownView(uri)?.rows.length)).toEqual([
    1,
    undefined,
    1,
  ]);
});

test('what was let go of follows a change elsewhere where the editor does not ask, and is let go of again', async () => {
  const opened = await openThree();
  opened.editorAsks = false;
  opened.write(oldest, spec(2));
  await settled();
  expect(opened.begun.slice(3)).toEqual([oldest]);
  expect(opened.shown.slice(3)).toEqual([{ uri: oldest, cause: 'asked', rows: 2 }]);
  expect(opened.documents.shownView(oldest)).toBeUndefined();
});

test('where the editor asks, it waits until it does', async () => {
  const opened = await openThree();
  opened.write(oldest, spec(2));
  await settled();
  expect(opened.begun).toHaveLength(3);
  // A keystroke is in a document that is looked at.
  opened.write(oldest, spec(3), 'keystroke');
  expect((await opened.documents.view(oldest))?.rows).toHaveLength(3);
});

test('in the background, only the newest text of a document is costed', async () => {
  const opened = await openThree();
  opened.editorAsks = false;
  opened.write(oldest, spec(2));
  opened.write(oldest, spec(3));
  await settled();
  expect(opened.begun.slice(3)).toEqual([oldest]);
  expect(opened.shown.slice(3)).toEqual([{ uri: oldest, cause: 'asked', rows: 3 }]);
});

test('a document that is being costed is not let go of', async () => {
  const opened = open();
  opened.write(oldest, spec(1));
  await opened.documents.view(oldest);
  await settled();
  let goOn = (): void => {};
  const { settingsOf } = opened;
  opened.settingsOf = async (uri) => {
    if (uri === oldest)
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
    return settingsOf(uri);
  };
  opened.write(oldest, spec(2));
  for (const uri of [second, newest]) {
    opened.write(uri, spec(1));
    await opened.documents.view(uri);
    await settled();
  }
  // Its view of before is shown until the next is there.
  expect(opened.documents.shownView(oldest)?.rows).toHaveLength(1);
  goOn();
  expect((await opened.documents.view(oldest))?.rows).toHaveLength(2);
});

test('with the text of a binary model, the model is let go of too', async () => {
  const opened = open();
  const model = 'file:///m/net.onnx';
  const text = `onnx-text:/m/net.onnx.onnxtxt?${encodeURIComponent(model)}`;
  opened.write(text, 'text', 'other', 'onnx-text');
  for (const uri of [text, second, newest]) {
    if (uri !== text) opened.write(uri, spec(1));
    await opened.documents.view(uri);
    await settled();
  }
  expect(opened.forgotten).toEqual([model]);
});

test('what was measured is kept when a view is let go of, until it is forgotten', async () => {
  const opened = await openThree();
  const measured = () => ({ kind: 'stale', reason: 'the model changed' }) as const;
  const reason = async (): Promise<string | undefined> => {
    opened.write(newest, spec(1));
    return (await opened.documents.view(newest))?.staleBenchmark;
  };
  opened.documents.keepMeasured(newest, undefined, measured);
  expect(await reason()).toBe('the model changed');
  for (const uri of [oldest, second]) await opened.documents.view(uri);
  expect(opened.documents.shownView(newest)).toBeUndefined();
  expect((await opened.documents.view(newest))?.staleBenchmark).toBe('the model changed');
  // Those of another model of the document are others.
  opened.documents.keepMeasured(newest, 'other', undefined);
  expect(await reason()).toBe('the model changed');
  opened.documents.keepMeasured(newest, undefined, undefined);
  expect(await reason()).toBeUndefined();
});

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
/** GPUs and batch of an estimate, and how many layers it has. */
const shortOf = ({ scenario, opened }: ModelEstimate) => [
  scenario?.gpus,
  scenario?.batchPerGpu,
  opened.analysis?.layers.length,
];

test('another text, an earlier one and another scenario are costed with the settings of the file', async () => {
  const opened = open();
  opened.settings = { ...opened.settings, cluster: 'dgx-a100', gpus: 4, batch: 6 };
  opened.write(one, spec(2));
  const view = await opened.documents.view(one);
  if (view === undefined) throw new Error('no view');
  expect(shortOf(view.estimate)).toEqual([4, 6, 2]);
  const recost = await opened.documents.recost(one);
  expect(shortOf(recost(spec(5), undefined))).toEqual([4, 6, 5]);
  const earlier = await opened.documents.estimateEarlier(one, bytesOf(spec(3)), undefined);
  expect(shortOf(earlier)).toEqual([4, 6, 3]);
  const changed = await opened.documents.recostScenario(one, view);
  expect(shortOf(changed({ gpus: 2 }))).toEqual([2, 6, 2]);
  expect(shortOf(changed({ batch: 9 }))).toEqual([4, 9, 2]);
  // Of the framework, what is not changed is as the settings say.
  opened.settings = { ...opened.settings, framework: 'horovod,fusion-mb=8' };
  const others = await opened.documents.recostScenario(one, view);
  expect(others({ gpus: 2 }).scenario?.framework).toEqual({ name: 'horovod', options: { 'fusion-mb': '8' } });
  expect(others({ framework: 'mxnet' }).scenario?.framework).toMatchObject({ name: 'mxnet' });
});

/** Two models of one file, with one layer and with three. */
const twoModels = `inputs: { x: 'float32[batch, 8]' }
models:
  small:
    layers:
      - a: Linear(8, 8)
  large:
    layers:
      - a: Linear(8, 8)
      - b: Linear(8, 8)
      - c: Linear(8, 8)
`;

test.each([
  ['small', 1],
  ['large', 3],
  [undefined, 1],
])('of a file of several models, %s is costed', async (model, layers) => {
  const { documents, write } = open();
  write(one, twoModels);
  await documents.view(one);
  const recost = await documents.recost(one);
  expect(shortOf(recost(twoModels, model))[2]).toBe(layers);
  expect(shortOf(await documents.estimateEarlier(one, bytesOf(twoModels), model))[2]).toBe(layers);
});

test('what was measured of one model of a file is of no other', async () => {
  const { documents, write } = open();
  write(one, twoModels);
  await documents.view(one);
  documents.keepMeasured(one, 'large', () => ({ kind: 'stale', reason: 'the model changed' }));
  write(one, twoModels);
  const view = await documents.view(one);
  if (view === undefined) throw new Error('no view');
  const reasons = viewsOf(view).map(({ part, staleBenchmark }) => [part?.name, staleBenchmark]);
  expect(reasons).toEqual([
    ['small', undefined],
    ['large', 'the model changed'],
  ]);
});

test('a text that cannot be read is one model, whose measurements stay', async () => {
  const { documents, write } = open();
  write(one, '');
  await documents.view(one);
  documents.keepMeasured(one, undefined, () => ({ kind: 'stale', reason: 'the model changed' }));
  write(one, '');
  expect((await documents.view(one))?.staleBenchmark).toBe('the model changed');
});
