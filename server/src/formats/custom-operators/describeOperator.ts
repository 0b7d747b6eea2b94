/** Writes the beginning of a description of a custom operator, which a person completes. */

import { type Document, isMap, parseDocument, type YAMLMap } from 'yaml';

/** What a node shows of its operator. */
export interface OperatorSketch {
  /** `domain.Type`. */
  readonly key: string;
  /** Axes of each input; `undefined` where they are not known. */
  readonly inputs: readonly (number | undefined)[];
  readonly outputs: number;
  readonly attributes: Readonly<Record<string, number>>;
}

/**
 * The text of the file of custom operators with a sketch of one more; `undefined` where it has that one, or is no map. Outputs have
 * the dimensions of the first input. The FLOPs are a name that nothing defines, so that nothing is costed before a person has
 * looked at it.
 */
export function describeOperator(text: string, sketch: OperatorSketch): string | undefined {
  const document: Document = parseDocument(text === '' ? 'operators: {}' : text, { prettyErrors: false });
  if (document.errors.length > 0) return undefined;
  const operators = document.get('operators', true) ?? document.createNode({});
  if (!isMap(document.contents) || !isMap(operators) || operators.has(sketch.key)) return undefined;
  operators.flow = false;
  const entry = entryOf(document, sketch);
  entry.commentBefore = ` Write the dimensions of outputs, and the FLOPs of forward in place of ${missing}.`;
  operators.add(document.createPair(sketch.key, entry));
  document.set('operators', operators);
  return document.toString({ lineWidth: 0 });
}

const missing = 'to_be_given';

function entryOf(document: Document, { inputs, outputs, attributes }: OperatorSketch): YAMLMap {
  const free = dimensionNames.filter((name) => attributes[name] === undefined).values();
  const named = inputs.map((axes, index): readonly [string, readonly string[]] => [
    inputs.length === 1 ? 'input' : `input${index + 1}`,
    axes === undefined ? ['...'] : Array.from({ length: axes }, () => free.next().value ?? missing),
  ]);
  const results = Array.from({ length: outputs }, (_, index): readonly [string, readonly string[]] => [
    outputs === 1 ? 'output' : `output${index + 1}`,
    named[0]?.[1] ?? [],
  ]);
  const entry: YAMLMap = document.createNode({});
  const add = (key: string, value: unknown): void => {
    entry.add(document.createPair(key, document.createNode(value, { flow: true })));
  };
  add('inputs', Object.fromEntries(named));
  if (Object.keys(attributes).length > 0) add('attributes', attributes);
  add('outputs', Object.fromEntries(results));
  add('flops', missing);
  return entry;
}

/** `a` to `z`, then `a1` and so on. */
const dimensionNames: readonly string[] = ['', '1', '2', '3'].flatMap((suffix) =>
  Array.from('abcdefghijklmnopqrstuvwxyz', (letter) => letter + suffix),
);
