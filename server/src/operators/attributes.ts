/** The attributes that ONNX's own operators take, in every version of the operator sets. */

import table from './attributes.json';

export interface AttributeDescription {
  readonly name: string;
  /** `int`, `ints`, `string`, `graph` and so on, as ONNX text writes types of attributes. */
  readonly kind: string;
  /** As ONNX text writes it; absent where there is none. */
  readonly default?: string;
  readonly required: boolean;
}

/** By name, as version `opset` of the domain's operators has them; the newest version where none is given. */
export function attributesOf(
  domain: string,
  type: string,
  opset = Number.POSITIVE_INFINITY,
): readonly AttributeDescription[] {
  const known = historyOf(domain, type);
  if (known === undefined) return [];
  return [...known.values()].flatMap((changes) => describedAt(changes, opset) ?? []);
}

/** `int = 1`, `string = "NOTSET"`, `ints`, or `int, required`. */
export const printAttributeType = (attribute: AttributeDescription): string =>
  attribute.required
    ? `${attribute.kind}, required`
    : attribute.default === undefined
      ? attribute.kind
      : `${attribute.kind} = ${attribute.default}`;

/** From which version on an attribute is this, or is no more; in order. */
export type AttributeHistory = readonly {
  readonly since: number;
  readonly attribute: AttributeDescription | undefined;
}[];

/** Attributes of all versions by name; `undefined` for an operator that is not ONNX's own. */
export function historyOf(domain: string, type: string): ReadonlyMap<string, AttributeHistory> | undefined {
  const ofDomain = histories.get(domain === 'ai.onnx' ? '' : domain);
  const found = ofDomain?.get(type);
  if (found === undefined || found instanceof Map) return found;
  const read = new Map(Object.entries(found).map(([name, changes]) => [name, readHistory(name, changes)]));
  ofDomain?.set(type, read);
  return read;
}

/** The attribute as it is in a version; `undefined` where that version does not have it. */
export const describedAt = (history: AttributeHistory, opset: number): AttributeDescription | undefined =>
  history.findLast(({ since }) => since <= opset)?.attribute;

/** What holds for all versions is one text, what does not a table by the version it holds from; '' is none. */
type Written = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/** Read when first asked for: a model uses thirty operators, and there are more than two hundred. */
const histories: ReadonlyMap<string, Map<string, Written | ReadonlyMap<string, AttributeHistory>>> = new Map(
  Object.entries<Readonly<Record<string, Written>>>(table.operators).map(([domain, operators]) => [
    domain,
    new Map(Object.entries(operators)),
  ]),
);

function readHistory(name: string, written: Written[string]): AttributeHistory {
  if (typeof written === 'string') return [{ since: 0, attribute: readDescription(name, written) }];
  return Object.entries(written).map(([since, text]) => ({
    since: Number(since),
    attribute: text === '' ? undefined : readDescription(name, text),
  }));
}

function readDescription(name: string, text: string): AttributeDescription {
  const [kind = text, otherwise] = text.split(' = ', 2);
  if (otherwise !== undefined) return { name, kind, default: otherwise, required: false };
  const required = text.endsWith(', required');
  return { name, kind: required ? text.slice(0, -', required'.length) : text, required };
}
