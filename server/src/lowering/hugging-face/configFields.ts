/**
 * Fields of a config by the names that most types of model use, with the defaults of transformers.
 *
 * A file holds what differs from the defaults of its type, and a type may call a field otherwise (`n_embd`).
 */

import type { HuggingFaceConfig } from '../../formats/hugging-face/readConfig.ts';
import { isObject } from '../../formats/parseJson.ts';
import table from './configDefaults.json' with { type: 'json' };

interface KnownType {
  /** What a field is called in files of this type. */
  readonly names: Readonly<Record<string, string>>;
  readonly defaults: Readonly<Record<string, unknown>>;
}

/** What each type calls its fields, in the order that `defaults` counts them. */
const namesOfTypes: Readonly<Record<string, Readonly<Record<string, string>>>> = table.types;

/** For each field the values it has, each followed by a list of the types that have it. */
const valuesOfFields: Readonly<Record<string, readonly unknown[]>> = table.defaults;

const readTypes = new Map<string, KnownType>();

function knownType(type: string): KnownType {
  const index = Object.keys(namesOfTypes).indexOf(type);
  if (index < 0) return { names: {}, defaults: {} };
  const known = readTypes.get(type) ?? readType(type, index);
  readTypes.set(type, known);
  return known;
}

function readType(type: string, index: number): KnownType {
  const defaults: Record<string, unknown> = {};
  for (const [field, values] of Object.entries(valuesOfFields)) {
    for (let at = 0; at < values.length; at += 2) {
      const types = values[at + 1];
      if (Array.isArray(types) && types.includes(index)) defaults[field] = values[at];
    }
  }
  return { names: namesOfTypes[type] ?? {}, defaults };
}

/** What files call a field that today's classes still read, and prefer (`kwargs.pop` in `configuration_*.py`). */
const olderNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  bloom: { hidden_size: 'n_embed' },
  falcon: { hidden_size: 'n_embed' },
  lfm2: { intermediate_size: 'block_ff_dim', tie_word_embeddings: 'tie_embedding' },
};

/** More than any network has; a size beyond it is a mistake. */
const largest = 2 ** 40;

/** More stages than any network has. */
const mostStages = 64;

export class ConfigFields {
  readonly #config: HuggingFaceConfig;
  readonly #known: KnownType;
  /** What is missing or of another kind, one sentence each; parts of a config share those of the whole. */
  readonly problems: string[];

  constructor(config: HuggingFaceConfig, problems: string[] = []) {
    this.#config = config;
    this.problems = problems;
    this.#known = knownType(config.type);
  }

  get type(): string {
    return this.#config.type;
  }

  get architecture(): string | undefined {
    return this.#config.architecture;
  }

  /** The value in the file, or the default of its type; `null` where neither is there. */
  #value(name: string): unknown {
    const own = this.#known.names[name] ?? name;
    const older = Object.hasOwn(olderNames, this.type) ? olderNames[this.type]?.[name] : undefined;
    for (const key of [...(older === undefined ? [] : [older]), own, name]) {
      if (Object.hasOwn(this.#config.fields, key)) return this.#config.fields[key];
    }
    for (const key of [own, name]) {
      if (Object.hasOwn(this.#known.defaults, key)) return this.#known.defaults[key];
    }
    return null;
  }

  /** Whether the field has a value other than null. */
  has(name: string): boolean {
    const value = this.#value(name);
    return value !== null && value !== undefined;
  }

  /** A whole number of at least one. */
  size(name: string): number {
    const value = this.#value(name);
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= largest) return value;
    const own = this.#known.names[name] ?? name;
    this.problems.push(
      value === null || value === undefined
        ? `\`${own}\` is missing`
        : `\`${own}\` must be a whole number of at least 1`,
    );
    return 1;
  }

  /** The same, or `undefined` where it is null, zero or not there. */
  optionalSize(name: string): number | undefined {
    const value = this.#value(name);
    return value === null || value === undefined || value === 0 || value === false
      ? undefined
      : this.size(name);
  }

  /** A number of any kind. */
  number(name: string, otherwise: number): number {
    const value = this.#value(name);
    return typeof value === 'number' && Number.isFinite(value) ? value : otherwise;
  }

  flag(name: string, otherwise = false): boolean {
    const value = this.#value(name);
    return typeof value === 'boolean' ? value : otherwise;
  }

  text(name: string, otherwise: string): string {
    const value = this.#value(name);
    return typeof value === 'string' ? value : otherwise;
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.#value(name);
    return Array.isArray(value) ? value : undefined;
  }

  /** A list of whole numbers of at least one. */
  sizes(name: string): readonly number[] {
    const list = this.list(name) ?? [];
    const sizes = list.filter(
      (size): size is number =>
        typeof size === 'number' && Number.isInteger(size) && size >= 1 && size <= largest,
    );
    if (sizes.length === 0 || sizes.length < list.length || sizes.length > mostStages)
      this.problems.push(`\`${name}\` must be a list of whole numbers of at least 1`);
    return sizes.slice(0, mostStages);
  }

  /** How many entries a table has. */
  entries(name: string): number | undefined {
    const value = this.#value(name);
    return isObject(value) ? Object.keys(value).length : undefined;
  }

  /** A config inside this one, such as `text_config`; its type is the one it names, else `type`. */
  inner(name: string, type: string): ConfigFields | undefined {
    const value = this.#value(name);
    if (!isObject(value)) return undefined;
    const own = typeof value.model_type === 'string' ? value.model_type : type;
    return new ConfigFields({ type: own, architecture: this.architecture, fields: value }, this.problems);
  }

  /** The same config where fields that the file leaves out are these. */
  withDefaults(standard: Readonly<Record<string, unknown>>): ConfigFields {
    return new ConfigFields(
      { ...this.#config, fields: { ...standard, ...this.#config.fields } },
      this.problems,
    );
  }

  /**
   * A part of the type that it names, else of that of `standard`, whose other fields are those that the class of the whole gives
   * it where the file has no such part.
   */
  partOr(name: string, standard: Readonly<Record<string, unknown>>): ConfigFields {
    const value = this.#value(name);
    const fields = isObject(value) ? value : standard;
    const type = [fields.model_type, standard.model_type].find((each) => typeof each === 'string');
    return new ConfigFields(
      { type: typeof type === 'string' ? type : '', architecture: this.architecture, fields },
      this.problems,
    );
  }

  /**
   * A part of that type, which has the defaults of its type where the file leaves it out, or those of `standard`; old files have a
   * copy that wins.
   */
  part(name: string, type: string, standard: Readonly<Record<string, unknown>> = {}): ConfigFields {
    const given = [name, `${name}_dict`].map((key) => this.#value(key)).filter(isObject);
    return new ConfigFields(
      { type, architecture: this.architecture, fields: Object.assign({}, standard, ...given) },
      this.problems,
    );
  }
}

/** Labels of a classifier: two where the config names none (configuration_utils.py), or three (configuration_bart.py). */
export const labelsOf = (fields: ConfigFields): number =>
  fields.optionalSize('num_labels') ?? fields.entries('id2label') ?? (fields.type === 'bart' ? 3 : 2);
