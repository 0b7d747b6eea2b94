/** What the protocol gets of what an editor can show, by what the editor can do. */

import { describe, expect, it } from 'vitest';
import { DiagnosticSeverity, InsertTextFormat } from 'vscode-languageserver';
import type { Completion } from '../../server/src/language/completion.ts';
import {
  toCodeLens,
  toCompletionItem,
  toDiagnostic,
  toFoldingRange,
  toSelectionRange,
  toSignatureHelp,
  toWorkspaceSymbol,
} from '../../server/src/lsp/toProto.ts';
import { commands } from '../../server/src/protocol.ts';

const range = { start: { line: 1, character: 2 }, end: { line: 1, character: 4 } };
/** With its placeholder, whose form a linter takes for a slip. */
const insert = ['Linear(', '{1:out_features})', '0'].join('$');
const linear: Completion = {
  label: 'Linear',
  kind: 'module',
  detail: 'Linear(out_features)',
  documentation: 'a product with a weight',
  insert,
  snippet: true,
  span: { start: 0, end: 2 },
  asksForArguments: true,
};
const all = { snippets: true, commands: true, details: true };

describe('a completion', () => {
  const argumentsCommand = { title: 'Show arguments', command: 'editor.action.triggerParameterHints' };
  const proposalsCommand = { title: 'Show what follows', command: 'editor.action.triggerSuggest' };

  it('is a snippet, and opens the help of its arguments, where the editor can', () => {
    expect(toCompletionItem(linear, 7, range, all)).toMatchObject({
      label: 'Linear',
      sortText: '0007',
      textEdit: { range, newText: insert },
      insertTextFormat: InsertTextFormat.Snippet,
      command: argumentsCommand,
    });
  });

  it.each([
    [{ ...all, snippets: false }, 'Linear(out_features)', undefined, undefined],
    [{ ...all, commands: false }, insert, InsertTextFormat.Snippet, undefined],
    [{ snippets: false, commands: false, details: true }, 'Linear(out_features)', undefined, undefined],
  ])('%o', (client, newText, insertTextFormat, command) => {
    const item = toCompletionItem(linear, 0, range, client);
    expect(item.textEdit).toEqual({ range, newText });
    expect(item.insertTextFormat).toBe(insertTextFormat);
    expect(item.command).toEqual(command);
  });

  it.each([
    ['asks for neither', {}, undefined],
    ['asks for arguments', { asksForArguments: true as const }, argumentsCommand],
    ['asks for proposals', { asksForProposals: true as const }, proposalsCommand],
  ])('that %s', (_, asks, command) => {
    const { asksForArguments: __, ...plain } = linear;
    expect(toCompletionItem({ ...plain, ...asks }, 0, range, all).command).toEqual(command);
  });

  it('of a folder goes on with what is in it, without being a snippet', () => {
    const { snippet: _, asksForArguments: __, ...plain } = linear;
    const folder: Completion = { ...plain, kind: 'folder', insert: 'models/' };
    expect(toCompletionItem(folder, 0, range, all).command).toEqual(proposalsCommand);
    expect(toCompletionItem(folder, 0, range, { ...all, commands: false }).command).toBeUndefined();
    expect(toCompletionItem({ ...folder, kind: 'value' }, 0, range, all).command).toBeUndefined();
  });

  it('shows a short detail beside the label, and a signature once', () => {
    const value: Completion = { ...linear, kind: 'value', detail: '8 × A100' };
    expect(toCompletionItem(value, 0, range, all)).toMatchObject({
      labelDetails: { description: '8 × A100' },
    });
    expect(toCompletionItem(value, 0, range, { ...all, details: false })).toMatchObject({
      detail: '8 × A100',
    });
    const own = toCompletionItem(linear, 0, range, all);
    expect([own.detail, own.labelDetails]).toEqual([undefined, undefined]);
    expect(toCompletionItem({ ...linear, documentation: '' }, 0, range, all).detail).toBe(
      'Linear(out_features)',
    );
  });
});

it.each([
  ['show-report', commands.showReport],
  ['choose-cluster', commands.chooseCluster],
  ['set-dimensions', commands.setDimensions],
  ['list-fixes', commands.listFixes],
] as const)('a lens that does %s', (action, command) => {
  const lens = { line: 3, title: 'a title', action };
  const place = { line: 3, character: 0 };
  expect(toCodeLens(lens, 'file:///m', true)).toMatchObject({
    range: { start: place, end: place },
    command: { title: 'a title', command },
  });
  expect(toCodeLens(lens, 'file:///m', false).command?.command).toBe('');
});

it.each([
  [0, 0],
  [1, 1],
  [undefined, 2],
])('signature help with the parameter %s at the cursor', (active, activeParameter) => {
  const parameters = [
    { start: 2, end: 3, documentation: 'first' },
    { start: 5, end: 6, documentation: 'second' },
  ];
  const help = toSignatureHelp({ label: 'f(a, b)', documentation: 'a function', parameters, active });
  expect(help).toMatchObject({ activeSignature: 0, activeParameter });
  expect(help.signatures[0]?.parameters?.map(({ label }) => label)).toEqual([
    [2, 3],
    [5, 6],
  ]);
});

it.each([
  [['seq'], true, 'no size; set it with `Layercost: Set Dimensions…`'],
  [['seq', 'past'], true, 'no size; set them with `Layercost: Set Dimensions…`'],
  [['seq', 'past'], false, 'no size; set them with the setting `layercost.dimensions`'],
  [[], true, 'no size'],
])('what is unset, %j, is said with how the editor sets it', (unset, hasCommands, message) => {
  const code = 'caffe/data-shape';
  expect(
    toDiagnostic({ range, code, severity: 'warning', message: 'no size', unset }, { hasCommands }),
  ).toMatchObject({
    message,
    severity: DiagnosticSeverity.Warning,
  });
});

it('ranges around a place are within one another, the smallest first', () => {
  const lines = [1, 2, 3].map((line) => ({ start: { line: 0, character: 0 }, end: { line, character: 0 } }));
  expect(toSelectionRange(lines)).toEqual({
    range: lines[0],
    parent: { range: lines[1], parent: { range: lines[2] } },
  });
  expect(toSelectionRange([])).toBeUndefined();
});

it('imports fold as imports, and symbols say what holds them', () => {
  expect(toFoldingRange({ firstLine: 1, lastLine: 4, kind: 'imports' })).toEqual({
    startLine: 1,
    endLine: 4,
    kind: 'imports',
  });
  expect(toFoldingRange({ firstLine: 1, lastLine: 4, kind: 'region' })).toEqual({ startLine: 1, endLine: 4 });
  const symbol = { name: 'Net', kind: 'module', uri: 'file:///m', range, container: '' } as const;
  expect(toWorkspaceSymbol(symbol)).not.toHaveProperty('containerName');
  expect(toWorkspaceSymbol({ ...symbol, container: 'models' })).toMatchObject({ containerName: 'models' });
});
