/** Files that a model or a setting names are read within bounds: whoever wrote the name may mean harm. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { type CodeAction, TextDocumentEdit, TextEdit } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { readCustomOperators } from '../../server/src/formats/custom-operators/readCustomOperators.ts';
import { longestInclude } from '../../server/src/formats/layer-spec/includePath.ts';
import { longestProfile } from '../../server/src/formats/longestProfile.ts';
import { includeReader } from '../../server/src/node/includeReader.ts';
import { nodePlatform } from '../../server/src/node/nodePlatform.ts';
import { startTestServer } from './testServer.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'layercost-')));
const folder = join(base, 'models');
const outside = join(base, 'elsewhere');
mkdirSync(folder);
mkdirSync(outside);
afterAll(() => rmSync(base, { recursive: true }));

const blocks = 'blocks:\n  mlp(d):\n    - fc: Linear(d, d)\n';
writeFileSync(join(folder, 'inside.yaml'), blocks);
writeFileSync(join(outside, 'secret.yaml'), blocks);
writeFileSync(join(folder, 'long.yaml'), `${blocks}#${'x'.repeat(longestInclude)}\n`);
symlinkSync(join(outside, 'secret.yaml'), join(folder, 'link.yaml'));
symlinkSync(outside, join(folder, 'linked'));
symlinkSync(join(folder, 'inside.yaml'), join(folder, 'alias.yaml'));

const included: readonly (readonly [file: string, isRead: boolean])[] = [
  ['inside.yaml', true],
  ['alias.yaml', true],
  ['link.yaml', false],
  ['linked/secret.yaml', false],
  ['long.yaml', false],
];

test.each(included)(
  'including %s is allowed by the editor and the command line alike: %s',
  async (file, isRead) => {
    expect(includeReader(folder)(file) !== undefined).toBe(isRead);

    const client = await startTestServer({ platform: nodePlatform, pullsDiagnostics: false });
    const uri = pathToFileURL(join(folder, 'model.layers.yaml')).href;
    await client.open(
      uri,
      'layer-spec',
      `include: ${file}\ninputs:\n  x: float32[8, 16]\nlayers:\n  - a: mlp(16)\n  - b: Linear(16, 16)\n`,
    );
    const codes = (await client.diagnostics(uri, 1)).map(({ code }) => code);
    expect(codes.includes('spec/include')).toBe(!isRead);
    await client.stop();
  },
);

const spec = 'inputs:\n  x: float32[8, 16]\nlayers:\n  - a: Linear(16, 16)\n  - b: Linear(16, 16)\n';

test.each([
  ['cluster', 'profile.json'],
  ['framework', 'framework.yaml'],
])('layercost.%s refuses a file that is too long before reading it', async (setting, file) => {
  writeFileSync(join(folder, file), 'x'.repeat(longestProfile + 1));
  const client = await startTestServer({
    platform: nodePlatform,
    settings: { [setting]: `./${file}` },
    pullsDiagnostics: false,
  });
  const uri = pathToFileURL(join(folder, 'model.layers.yaml')).href;
  await client.open(uri, 'layer-spec', spec);
  const messages = (await client.diagnostics(uri, 1)).map(({ message }) => message);
  expect(messages).toContainEqual(expect.stringContaining(`cannot read ${file}: it is longer than 256 KiB`));
  await client.stop();
});

test.each(['//server/share/profile.json', '\\\\server\\share\\profile.json'])(
  'a folder that is not trusted cannot name %s',
  async (path) => {
    const opened: string[] = [];
    const client = await startTestServer({
      platform: {
        ...nodePlatform,
        openFile: (uri, bounds) => {
          opened.push(uri);
          return nodePlatform.openFile(uri, bounds);
        },
      },
      settings: { cluster: path },
      initialization: { trusted: false },
      pullsDiagnostics: false,
    });
    const uri = pathToFileURL(join(folder, 'model.layers.yaml')).href;
    await client.open(uri, 'layer-spec', spec);
    await client.diagnostics(uri, 1);
    expect(opened.filter((each) => each.includes('server'))).toEqual([]);
    await client.stop();
  },
);

const model = `<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (float[4, 64] x) => (float[4, 64] y) { y = com.example.Mix (x) }`;

test.each([
  ['a file beside the model', true, false],
  ['a link out of the folder', false, true],
] as const)('custom operators are described by %s: %s', async (_, isRead, isLink) => {
  const inner = mkdtempSync(join(folder, 'custom-'));
  const description = 'operators: { com.example.Mix: { like: Relu } }\n';
  const file = join(inner, 'custom-operators.layercost.yaml');
  if (isLink) {
    writeFileSync(join(outside, 'operators.yaml'), description);
    symlinkSync(join(outside, 'operators.yaml'), file);
  } else writeFileSync(file, description);
  const client = await startTestServer({ platform: nodePlatform, pullsDiagnostics: false });
  const uri = pathToFileURL(join(inner, 'model.onnxtxt')).href;
  await client.open(uri, 'onnx-text', model);
  const codes = (await client.diagnostics(uri, 1)).map(({ code }) => code);
  expect(codes.includes('graph/unknown-operator')).toBe(!isRead);
  await client.stop();
});

const mix = `<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (float[4, 64] x, float[64] w) => (float[4, 64] y) {
  a = Relu (x)
  y = com.example.Mix <heads = 8> (a, w)
}`;
const sketch = `  com.example.Mix:
    # Write the dimensions of outputs, and the FLOPs of forward in place of to_be_given.
    inputs: { input1: [ a, b ], input2: [ c ] }
    attributes: { heads: 8 }
    outputs: { output: [ a, b ] }
    flops: to_be_given
`;
const described = `# ours
operators:
  com.example.Other: { like: Relu } # fused
`;

test.each([
  ['a file that is not there yet', undefined, ['create', 'edit'], `operators:\n${sketch}`],
  ['a file with another operator', described, ['edit'], `${described}${sketch}`],
] as const)('an unknown operator is sketched in %s', async (_, before, kinds, after) => {
  const inner = mkdtempSync(join(folder, 'sketch-'));
  const file = join(inner, 'custom-operators.layercost.yaml');
  if (before !== undefined) writeFileSync(file, before);
  const client = await startTestServer({ platform: nodePlatform, pullsDiagnostics: false });
  const uri = pathToFileURL(join(inner, 'model.onnxtxt')).href;
  await client.open(uri, 'onnx-text', mix);
  const codes = (await client.diagnostics(uri, 1)).map(({ code }) => code);
  expect(codes).toContain('graph/unknown-operator');
  const place = { line: 3, character: 8 };
  const actions = await client.connection.sendRequest<readonly CodeAction[]>('textDocument/codeAction', {
    textDocument: { uri },
    range: { start: place, end: place },
    context: { diagnostics: [] },
  });
  const [fix] = actions.filter(({ title }) => title.includes('com.example.Mix'));
  expect(fix?.diagnostics?.map(({ code }) => code)).toEqual(['graph/unknown-operator']);
  const changes = fix?.edit?.documentChanges ?? [];
  expect(changes.map((change) => ('kind' in change ? change.kind : 'edit'))).toEqual(kinds);
  let written = before ?? '';
  for (const change of changes) {
    if (!TextDocumentEdit.is(change)) continue;
    expect(change.textDocument.uri).toBe(pathToFileURL(file).href);
    const document = TextDocument.create(change.textDocument.uri, 'yaml', 0, written);
    written = TextDocument.applyEdits(document, change.edits.filter(TextEdit.is));
  }
  expect(written).toBe(after);
  // Nothing is costed before a person has written the work; then the file is enough.
  expect(readCustomOperators(written).issues.map(({ message }) => message)).toEqual([
    expect.stringContaining('`to_be_given` is neither a dimension of an input nor an attribute'),
  ]);
  const { operators, issues } = readCustomOperators(written.replace('flops: to_be_given', 'flops: 2*a*b*c'));
  expect(issues).toEqual([]);
  expect(operators.get('com.example.Mix')).toMatchObject({ kind: 'described', flops: '2*a*b*c' });
  await client.stop();
});

test.each([
  ['neither versions of files nor new ones', {}, false, false],
  ['no versions of files', { resourceOperations: ['create'] }, false, false],
  ['no new files', { documentChanges: true }, false, true],
  ['both', { documentChanges: true, resourceOperations: ['create'] }, true, true],
] as const)(
  'an editor that knows %s is offered what it can do',
  async (_, workspaceEdit, isMade, isEdited) => {
    const isOffered = async (before: string | undefined): Promise<boolean> => {
      const inner = mkdtempSync(join(folder, 'edits-'));
      if (before !== undefined) writeFileSync(join(inner, 'custom-operators.layercost.yaml'), before);
      const client = await startTestServer({ platform: nodePlatform, workspaceEdit });
      const uri = pathToFileURL(join(inner, 'model.onnxtxt')).href;
      await client.open(uri, 'onnx-text', mix);
      const place = { line: 3, character: 8 };
      const actions = await client.connection.sendRequest<readonly CodeAction[]>('textDocument/codeAction', {
        textDocument: { uri },
        range: { start: place, end: place },
        context: { diagnostics: [] },
      });
      await client.stop();
      return actions.some(({ title }) => title.startsWith('Describe'));
    };
    expect([await isOffered(undefined), await isOffered(described)]).toEqual([isMade, isEdited]);
  },
);
