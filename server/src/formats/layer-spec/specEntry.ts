/** One key of a YAML mapping with the place of its name. */

import type { ParsedNode } from 'yaml';
import type { Name } from './syntax.ts';

export interface SpecEntry {
  readonly key: Name;
  /** `null` where the key has no value. */
  readonly value: ParsedNode | null;
}
