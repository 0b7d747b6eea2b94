/** The part of the editor's API that pickers use: what is answered is set by a test, and what is written is kept. */

interface Item {
  readonly label: string;
  readonly command?: string;
}

export const editor = {
  /** What the person enters, and the label of what they pick. */
  entered: undefined as string | undefined,
  picked: undefined as string | undefined,
  /** Entered or picked one after another, before those above. */
  answers: [] as string[],
  /** What an input box starts with. */
  offered: undefined as string | undefined,
  /** The prompt of the last box. */
  asked: undefined as string | undefined,
  workspace: true,
  written: [] as (readonly [key: string, value: unknown, target: number])[],
  told: [] as string[],
  copied: [] as string[],
  /** The document of the active editor. */
  document: undefined as { readonly uri: unknown; readonly languageId: string } | undefined,
  commands: new Map<string, () => Promise<void>>(),
};

export const l10n = {
  t: (text: string, ...values: readonly unknown[]) =>
    text.replace(/\{(\d)\}/g, (_, index) => String(values[index])),
};
export const QuickPickItemKind = { Separator: -1 };
export const ConfigurationTarget = { Global: 1, Workspace: 2 };
export const Disposable = { from: () => ({ dispose: () => {} }) };
export const commands = {
  registerCommand: (name: string, run: () => Promise<void>) => {
    editor.commands.set(name, run);
    return { dispose: () => {} };
  },
  executeCommand: (name: string) => editor.commands.get(name)?.(),
};
export const ProgressLocation = { Notification: 15 };
export const env = { clipboard: { writeText: async (text: string) => editor.copied.push(text) } };
export const window = {
  showInputBox: async ({
    value,
    prompt,
    validateInput,
  }: {
    value: string;
    prompt?: string;
    validateInput: (text: string) => unknown;
  }) => {
    editor.offered = value;
    editor.asked = prompt;
    const entered = editor.answers.shift() ?? editor.entered;
    return entered === undefined || validateInput(entered) !== undefined ? undefined : entered;
  },
  /** Of the scopes, the widest of this window. */
  showQuickPick: async (items: readonly Item[]) => {
    const scope = editor.workspace ? 'This workspace' : 'All workspaces';
    const picked = editor.answers.shift() ?? editor.picked;
    return items.find(({ label }) => label === picked || label === scope);
  },
  showInformationMessage: (text: string) => editor.told.push(text),
  showWarningMessage: (text: string) => editor.told.push(text),
  setStatusBarMessage: (text: string) => editor.told.push(text),
  get activeTextEditor() {
    return editor.document && { document: editor.document, selection: { active: { line: 0 } } };
  },
  withProgress: (_: unknown, work: (progress: unknown, token: unknown) => unknown) =>
    work({ report: () => {} }, { isCancellationRequested: false }),
};
export const Uri = { parse: (path: string) => ({ path, scheme: 'file' }) };
/** Of the one folder of the window. */
const folder = '/window/';
export const workspace = {
  textDocuments: [],
  getWorkspaceFolder: ({ path }: { readonly path: string }) =>
    editor.workspace && path.startsWith(folder) ? {} : undefined,
  asRelativePath: ({ path }: { readonly path: string }) => path.slice(folder.length),
  get workspaceFolders() {
    return editor.workspace ? [{}] : undefined;
  },
  getConfiguration: () => ({
    inspect: (key: string) => ({
      workspaceValue: editor.written.findLast(([written]) => written === key)?.[1],
    }),
    update: async (key: string, value: unknown, target: number) => {
      editor.written.push([key, value, target]);
    },
  }),
};
