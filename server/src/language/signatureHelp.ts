/** The signature of the call that is being written, and which of its parameters the cursor is at. */

export interface SignatureHelp {
  readonly label: string;
  /** Markdown. */
  readonly documentation: string;
  /** In the order of the label. */
  readonly parameters: readonly {
    /** Where it stands in the label. */
    readonly start: number;
    readonly end: number;
    readonly documentation: string;
  }[];
  /** Index of the parameter at the cursor; `undefined` where it is none of them. */
  readonly active: number | undefined;
}
