/**
 * What is wrong with a value that a schema refuses, in our words: what is missing, what is not known and what was meant,
 * what belongs there. Each is a predicate to stand behind the name of its place: "is missing; it takes a number".
 */

import { z } from 'zod';
import { didYouMean, nearestName } from '../model/nearestName.ts';
import { firstLine } from './yamlDocument.ts';

export interface SchemaProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** The place is the key itself, which the schema does not know. */
  readonly isKey?: true;
}

/**
 * `error` is that of `schema` about `value`. `what` words a type that the schema makes of several, or nothing for the
 * others.
 */
export function schemaProblems(
  error: z.ZodError,
  schema: z.ZodType,
  value: unknown,
  what: (type: z.ZodType) => string | undefined = () => undefined,
): readonly SchemaProblem[] {
  const unknownKeys = error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => ({ path: issue.path, key })) : [],
  );
  const strangers = unknownKeys.map(({ path, key }): SchemaProblem & { readonly meant: string } => {
    const known = keysOf(typeAt(schema, path));
    const meant = nearestName(key, known) ?? '';
    const message = `is not known${didYouMean(key, known) || `; known keys: ${list(known)}`}`;
    return { path: [...path, key], message, isKey: true, meant: pathKey([...path, meant]) };
  });
  const meant = new Set(strangers.map((stranger) => stranger.meant));
  const others = error.issues.flatMap((issue): readonly SchemaProblem[] => {
    const { path } = issue;
    if (issue.code === 'unrecognized_keys') return [];
    const type = typeAt(schema, path);
    const takes = type === undefined ? undefined : (what(type) ?? describe(type));
    if (valueAt(value, path) === undefined) {
      // A key that is misspelt is said once.
      return meant.has(pathKey(path))
        ? []
        : [{ path, message: `is missing${takes === undefined ? '' : `; it takes ${takes}`}` }];
    }
    const isKind = kinds.has(issue.code);
    const near = nearOf(type, valueAt(value, path));
    return [{ path, message: isKind && takes !== undefined ? `takes ${takes}${near}` : limitText(issue) }];
  });
  return [...strangers.map(({ meant: _, ...problem }) => problem), ...others];
}

/** Of another kind, where what belongs there says all. */
const kinds: ReadonlySet<string | undefined> = new Set(['invalid_type', 'invalid_union', 'invalid_value']);

/** "must be more than 0", "must not be empty", or what the schema says itself. */
function limitText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small' && issue.origin === 'string') return 'must not be empty';
  if (issue.code === 'too_small')
    return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
  if (issue.code === 'too_big')
    return `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`;
  return lowered(issue.message);
}

/** "one of a, b", "text", "a map of kind and title". */
function describe(type: z.ZodType): string | undefined {
  const bare = unwrap(type);
  if (bare instanceof z.ZodEnum) return `one of ${bare.options.join(', ')}`;
  if (bare instanceof z.ZodObject) return `a map of ${list(keysOf(bare))}`;
  if (bare instanceof z.ZodString) return 'text';
  if (bare instanceof z.ZodNumber) return 'a number';
  if (bare instanceof z.ZodBoolean) return 'true or false';
  return bare instanceof z.ZodArray ? 'a list' : undefined;
}

function nearOf(type: z.ZodType | undefined, given: unknown): string {
  const bare = type && unwrap(type);
  return bare instanceof z.ZodEnum && typeof given === 'string'
    ? didYouMean(given, bare.options.map(String))
    : '';
}

/** The type at a path, of several the map that has its keys. */
function typeAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  let type: z.ZodType | undefined = schema;
  for (const key of path) {
    const map: z.ZodType | undefined = type && mapOf(type);
    const inner: unknown =
      map instanceof z.ZodObject
        ? map.shape[String(key)]
        : map instanceof z.ZodRecord
          ? map.valueType
          : undefined;
    type = inner instanceof z.ZodType ? inner : undefined;
  }
  return type;
}

function mapOf(type: z.ZodType): z.ZodType | undefined {
  const bare = unwrap(type);
  if (!(bare instanceof z.ZodUnion)) return bare;
  return bare.options.find((option): option is z.ZodObject => option instanceof z.ZodObject);
}

/** Without what says that it may be left out. */
function unwrap(type: z.ZodType): z.ZodType {
  let bare = type;
  while (bare instanceof z.ZodOptional || bare instanceof z.ZodDefault || bare instanceof z.ZodPrefault) {
    const inner: unknown = bare.unwrap();
    if (!(inner instanceof z.ZodType)) return bare;
    bare = inner;
  }
  return bare;
}

function keysOf(type: z.ZodType | undefined): readonly string[] {
  const map = type && mapOf(type);
  return map instanceof z.ZodObject ? Object.keys(map.shape).filter((key) => !key.startsWith('$')) : [];
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let inner = value;
  for (const key of path) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, key)) return undefined;
    inner = Object.entries(inner).find(([name]) => name === String(key))?.[1];
  }
  return inner;
}

const pathKey = (path: readonly PropertyKey[]): string => path.map(String).join('\n');

const list = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

const lowered = (message: string): string => {
  const line = firstLine(message);
  return line.charAt(0).toLowerCase() + line.slice(1);
};
