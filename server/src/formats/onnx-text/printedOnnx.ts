/** What a printed model is: its text, and where the parts of the model stand in it. */

/** Lines and columns are 0-based, columns in UTF-16 code units, ends exclusive (`lastLine` is inclusive). */
export interface PrintedOnnx {
  readonly text: string;
  /** Line of top-level node i. */
  readonly nodeLines: readonly number[];
  /** Where the parts of top-level node i are. */
  readonly nodes: readonly PrintedNode[];
  readonly inputLines: ReadonlyMap<string, number>;
  readonly outputLines: ReadonlyMap<string, number>;
  readonly initializerLines: ReadonlyMap<string, number>;
  /** Line of the graph's name, where its signature begins. */
  readonly graphLine: number;
  /** Parts that can be folded, in order. */
  readonly sections: readonly PrintedSection[];
  readonly functions: readonly PrintedFunction[];
  /** How many values, lists and texts are not shown in full. 0 means that the text is plain ONNX text. */
  readonly elided: number;
}

export interface PrintedNode {
  /** The first line: the node's name where it has one, else the node itself. */
  readonly line: number;
  /** The line of outputs, operator, attributes and inputs. */
  readonly bodyLine: number;
  /** Differs from `bodyLine` where the node has subgraphs. */
  readonly lastLine: number;
  /** The name inside its brackets; absent for a node without name. */
  readonly name?: Columns;
  readonly outputs: Columns;
  /** The operator with its domain. */
  readonly type: Columns;
}

export interface Columns {
  readonly start: number;
  readonly end: number;
}

export interface PrintedSection {
  readonly kind: 'header' | 'inputs' | 'outputs' | 'initializers' | 'nodes' | 'function';
  readonly line: number;
  readonly lastLine: number;
}

export interface PrintedFunction {
  readonly name: string;
  readonly line: number;
  readonly lastLine: number;
  readonly nodes: readonly PrintedNode[];
}
