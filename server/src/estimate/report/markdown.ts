/** Text that Markdown leaves as it is. */

/** A name as code, in which a cell still ends at a bar (GitHub Flavored Markdown, "Tables"). */
export const codeInMarkdown = (name: string): string =>
  `\`${name.replaceAll('`', "'").replaceAll('|', '\\|')}\``;

export const escapeMarkdown = (text: string): string =>
  text.replace(/[\\|<>*_[\]]/g, (character) => `\\${character}`);

/** A number stays on one line with its unit, in a table that has no room. */
export const unbroken = (text: string): string => text.replaceAll(' ', '\u00a0');
