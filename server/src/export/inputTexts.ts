/** What a model is called with, as people write it: a name, a type and sizes for each parameter of `forward`. */

/** `tokens=int64[batch, 128]` → the parameter and the rest; `undefined` where it has no such form. */
export function readInputText(text: string): readonly [parameter: string, type: string] | undefined {
  const [, name, type] = /^\s*(\w+)\s*=\s*(.+?)\s*$/.exec(text) ?? [];
  return name === undefined || type === undefined ? undefined : [name, type];
}

/** Several, parted by semicolons, as an editor's input box takes them; the first that has no such form is `wrong`. */
export function readInputTexts(
  text: string,
): { readonly inputs: Readonly<Record<string, string>> } | { readonly wrong: string } {
  const parts = text.split(';').filter((part) => part.trim() !== '');
  const inputs: Record<string, string> = {};
  for (const part of parts) {
    const read = readInputText(part);
    if (read === undefined) return { wrong: part.trim() };
    const [name, type] = read;
    inputs[name] = type;
  }
  return { inputs };
}

/** Those of a model in one line, which `readInputTexts` reads. */
export const inputTexts = (inputs: Readonly<Record<string, string>>): string =>
  Object.entries(inputs)
    .map(([name, type]) => `${name}=${type}`)
    .join('; ');
