/** `layercost lsp`: the language server over standard input and output. It is a bundle of its own. */

/** Runs until the editor closes the connection. */
export async function runServerCommand(): Promise<number> {
  const bundle = new URL('./server.js', import.meta.url);
  await import(bundle.href);
  return new Promise(() => {});
}
