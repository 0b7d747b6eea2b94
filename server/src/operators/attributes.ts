/** The attributes that an ONNX operator takes, in its newest version. */

import { z } from 'zod';
import table from './attributes.json';

export interface AttributeDescription {
  readonly name: string;
  /** `int = 1`, `string = "NOTSET"`, `ints`, or `int, required`. */
  readonly type: string;
}

/** By name; empty for an operator that is not ONNX's own, or that takes none. */
export function attributesOf(domain: string, type: string): readonly AttributeDescription[] {
  const known = operators[domain === 'ai.onnx' ? '' : domain]?.[type] ?? {};
  return Object.entries(known).map(([name, text]) => ({ name, type: text }));
}

const operators = z
  .record(z.string(), z.record(z.string(), z.record(z.string(), z.string())))
  .parse(table.operators);
