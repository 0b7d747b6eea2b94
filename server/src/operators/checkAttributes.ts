/** Whether an operator of ONNX's own has the attributes that it is given, as `onnx.checker` and the runtimes ask. */

import type { Attribute } from '../model/attribute.ts';
import { didYouMean } from '../model/nearestName.ts';
import {
  type AttributeDescription,
  type AttributeHistory,
  attributesOf,
  describedAt,
  historyOf,
} from './attributes.ts';
import { isNotOfOnnx } from './unknownOperators.ts';

export interface AttributeProblem {
  /** The attribute that is written there; absent where one is missing. */
  readonly attribute?: string;
  /** What is wrong, after the name of the operator: `has no attribute …`. */
  readonly message: string;
}

/**
 * What is wrong with the attributes of an operator in version `opset` of its domain: names that it does not have, values
 * of another type, required ones that are missing.
 *
 * Operators of other domains, and versions newer than the table's, are taken as they are.
 */
export function checkAttributes(
  domain: string,
  type: string,
  opset: number,
  given: ReadonlyMap<string, Attribute<unknown>>,
): readonly AttributeProblem[] {
  const histories = historyOf(domain, type);
  if (histories === undefined || !isNotOfOnnx(domain === 'ai.onnx' ? '' : domain, opset)) return [];
  const problems: AttributeProblem[] = [];
  for (const [name, value] of given) {
    const history = histories.get(name);
    const described = history && describedAt(history, opset);
    if (described === undefined) {
      const others = attributesOf(domain, type, opset).map((other) => other.name);
      const message =
        history === undefined
          ? `has no attribute \`${name}\`, which is left out${didYouMean(name, others) || whatItTakes(others)}`
          : `has no attribute \`${name}\` in operator set ${opset}, only ${whichVersions(history)}: remove it, or change the version that the model imports`;
      problems.push({ attribute: name, message });
      continue;
    }
    const found = kindOf(value);
    if (found === undefined || found === described.kind) continue;
    problems.push({ attribute: name, message: wrongKind(described, value, found) });
  }
  for (const [name, history] of histories) {
    const described = given.has(name) ? undefined : describedAt(history, opset);
    if (described?.required !== true) continue;
    problems.push({
      message: `needs the attribute \`${name}\`, ${kindInWords(described.kind)}: give it one, runtimes refuse the operator without`,
    });
  }
  return problems;
}

const whatItTakes = (names: readonly string[]): string =>
  names.length === 0 ? '; it takes none' : `; it takes ${names.join(', ')}`;

/** `from 14 on`, `before 9`, `from 7 to 9`. */
function whichVersions(history: AttributeHistory): string {
  const since = history.find(({ attribute }) => attribute !== undefined)?.since ?? 0;
  const until = history.findLast(({ attribute }) => attribute === undefined)?.since;
  if (until === undefined || until < since) return `from ${since} on`;
  return since <= 1 ? `before ${until}` : `from ${since} to ${until - 1}`;
}

/** The kind of a value as ONNX text writes it; `undefined` where it is not known. */
const kindOf = (value: Attribute<unknown>): string | undefined =>
  value.kind === 'reference' ? value.type : value.kind === 'other' ? undefined : value.kind;

function wrongKind({ name, kind }: AttributeDescription, value: Attribute<unknown>, found: string): string {
  const right = correctedValue(value, kind);
  const what = right === undefined ? `give it ${kindInWords(kind)}` : `write \`${right}\``;
  return `takes ${kindInWords(kind)} as \`${name}\`, not ${kindInWords(found)}: ${what}`;
}

/** The same value in the kind that is wanted, as ONNX text writes it, where it is plainly meant. */
function correctedValue(value: Attribute<unknown>, kind: string): string | undefined {
  if (value.kind === 'int' && kind === 'float') return `${value.value}.0`;
  if (value.kind === 'int' && kind === 'ints') return `[${value.value}]`;
  if (value.kind === 'string' && kind === 'strings') return `["${value.value}"]`;
  const [first] = value.kind === 'ints' ? value.value : [];
  if (value.kind === 'ints' && kind === 'int' && value.value.length === 1) return `${first}`;
  return undefined;
}

const kindInWords = (kind: string): string => kinds.get(kind) ?? `a value of type ${kind}`;

const kinds: ReadonlyMap<string, string> = new Map([
  ['int', 'a whole number'],
  ['float', 'a number with a point'],
  ['string', 'a text'],
  ['tensor', 'a tensor'],
  ['graph', 'a graph'],
  ['sparse_tensor', 'a sparse tensor'],
  ['type_proto', 'a type'],
  ['ints', 'a list of whole numbers'],
  ['floats', 'a list of numbers'],
  ['strings', 'a list of texts'],
  ['tensors', 'a list of tensors'],
  ['graphs', 'a list of graphs'],
  ['type_protos', 'a list of types'],
]);
