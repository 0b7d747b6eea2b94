/** Paths of included layer specs: below the folder of the model, whoever includes them. */

/** Bytes of an included file. Blocks are text that people wrote. */
export const longestInclude = 2 ** 20;

/**
 * The path `written` in the file `from`, both relative to the model's folder; or why it cannot be included. An
 * absolute path, an address, or a way out of the folder is none: a model must not read files elsewhere.
 */
export function includePath(
  written: string,
  from: string,
): { readonly path: string } | { readonly problem: string } {
  if (written.trim() === '') return { problem: 'the path of the file to include is missing' };
  if (/^[/\\]|^[A-Za-z][\w+.-]*:|\\|\0/.test(written)) {
    return { problem: 'write a path relative to this file, with `/` between its parts' };
  }
  if (/\p{Cs}/u.test(written)) {
    return { problem: 'the path holds half of a character; write the name of the file again' };
  }
  const parts = from.split('/').slice(0, -1);
  for (const part of written.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) {
      return { problem: 'the path leaves the folder of the model; put the file inside it' };
    }
  }
  const path = parts.join('/');
  if (!/\.ya?ml$/i.test(path)) return { problem: 'only layer specs (*.yaml, *.yml) can be included' };
  return { path };
}
