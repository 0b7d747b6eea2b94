/** `layercost lsp`: the language server, over standard input and output or over what its options name. */

/** Runs until the editor closes the connection. */
export async function runServerCommand(): Promise<number> {
  await import('../node/serverMain.ts');
  return new Promise(() => {});
}
