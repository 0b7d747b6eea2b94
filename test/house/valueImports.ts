/** What a file imports as it is loaded: neither types alone, nor what it asks for later by `import()`. */

import { readFileSync } from 'node:fs';

export function valueImports(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/^(?:import|export)\s+(?!type\b)(?:([^'";]*?)\s+from\s+)?'([^']+)'/gm)]
    .filter(([, names = '']) => !/^\{\s*(?:type\s+[\w\s]+,?\s*)+\}$/.test(names))
    .map(([, , target = '']) => target);
}
