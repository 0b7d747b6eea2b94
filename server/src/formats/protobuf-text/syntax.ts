/** The tree of a protobuf message written as text, before any schema says what its fields are. */

import type { TextSpan } from '../../model/issue.ts';

export interface TextMessage {
  readonly fields: readonly TextField[];
}

export interface TextField {
  /** `[package.extension]` with its brackets for an extension; a number for a field without name. */
  readonly name: string;
  readonly nameSpan: TextSpan;
  readonly value: TextValue;
}

export type TextValue =
  | { readonly kind: 'message'; readonly message: TextMessage; readonly span: TextSpan }
  /** A number, `true`, or the name of an enum value, as it is written. */
  | { readonly kind: 'scalar'; readonly text: string; readonly span: TextSpan }
  /** Quoted pieces, which are one value together. They are not decoded: a piece may be a tensor of megabytes. */
  | { readonly kind: 'quoted'; readonly pieces: readonly TextSpan[]; readonly span: TextSpan }
  /** Values of one repeated field: a list in brackets, or scalars one after the other under the same name. */
  | {
      readonly kind: 'list';
      readonly values: readonly TextValue[];
      /** How many more there are, which were read and not kept. */
      readonly omitted: number;
      readonly span: TextSpan;
    };
