/**
 * What a field of a Caffe message takes: the language the tables of messages are written in.
 *
 * Protobuf needs no more to read a text; names, types and defaults are those of `caffe.proto` (BVLC Caffe,
 * src/caffe/proto/caffe.proto).
 */

/** `whole` is any integer type; `float` any other number. Enums and messages are named. */
export type FieldType =
  | { readonly kind: 'whole' | 'float' | 'bool' | 'string' }
  /** A whole number that may be negative: axes, labels, dimensions. */
  | { readonly kind: 'integer' }
  /** Whatever a fork writes there. */
  | { readonly kind: 'open' }
  /** A value of an enumeration that no cost depends on. */
  | { readonly kind: 'word' }
  | { readonly kind: 'enum'; readonly values: readonly string[] }
  | { readonly kind: 'message'; readonly message: string };

export interface FieldSchema {
  readonly name: string;
  readonly type: FieldType;
  readonly repeated: boolean;
  /** What holds where the field is left out, where the schema gives a value. */
  readonly default: number | boolean | string | undefined;
  /** One line for completion and hovers; '' where the name says it all. */
  readonly documentation: string;
}

export interface MessageSchema {
  readonly name: string;
  readonly fields: ReadonlyMap<string, FieldSchema>;
}

/** `type`, `type*` where it repeats, `type = default`; then what it is. */
export type FieldText = readonly [type: string, documentation?: string];

/** A message from the short texts of its fields; `enums` are the enumerations they may name. */
export function defineMessage(
  name: string,
  fields: Readonly<Record<string, FieldText>>,
  enums: Readonly<Record<string, readonly string[]>>,
): MessageSchema {
  const entries = Object.entries(fields).map(([field, [text, documentation = '']]): [string, FieldSchema] => {
    const [, typeName = '', star = '', written] = /^([A-Za-z0-9_]+)(\*?)(?: = (.*))?$/.exec(text) ?? [];
    const type = typeOf(typeName, enums);
    return [
      field,
      {
        name: field,
        type,
        repeated: star === '*',
        default: written === undefined ? undefined : defaultOf(type, written),
        documentation,
      },
    ];
  });
  return { name, fields: new Map(entries) };
}

function typeOf(name: string, enums: Readonly<Record<string, readonly string[]>>): FieldType {
  switch (name) {
    case 'whole':
    case 'integer':
    case 'float':
    case 'bool':
    case 'string':
    case 'word':
      return { kind: name };
    default: {
      const values = enums[name];
      return values === undefined ? { kind: 'message', message: name } : { kind: 'enum', values };
    }
  }
}

function defaultOf(type: FieldType, written: string): number | boolean | string {
  if (type.kind === 'bool') return written === 'true';
  return type.kind === 'enum' || type.kind === 'string' ? written : Number(written);
}
