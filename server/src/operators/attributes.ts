/** The attributes that an ONNX operator takes, in its newest version. */

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

type TypesByName = Readonly<Record<string, string>>;

const operators: Readonly<Record<string, Readonly<Record<string, TypesByName>>>> = table.operators;
