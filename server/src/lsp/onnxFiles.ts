/**
 * Binary models by address: opened once, printed once, forgotten when the file changes, no text shows it, or others were
 * opened since.
 * A model that cannot be read has a text too: one that says why.
 */

import { type SpecOfGraph, specOfGraph } from '../analysis/asSpec/specOfGraph.ts';
import type { OpenedModel } from '../analysis/openedModel.ts';
import { openModel } from '../analysis/openModel.ts';
import { asTrained } from '../analysis/restoration/asTrained.ts';
import { printOnnxText } from '../formats/onnx-text/printOnnxText.ts';
import type { LayersText } from '../language/viewOnnxLayers.ts';
import type { PrintedText } from '../language/viewOnnxText.ts';
import type { Issue } from '../model/issue.ts';
import { lazy } from '../model/lazy.ts';
import { wrapWords } from '../model/wrapWords.ts';
import { type OperatorsBeside, withOperatorsBeside } from './operatorsBeside.ts';
import type { FileOpening, Platform } from './platform.ts';
import type { ReadFile } from './readFile.ts';
import { fileName } from './virtualText.ts';

export interface OnnxFile extends PrintedText {
  readonly opened: OpenedModel;
  /** The same as layers; printed when it is first asked for. */
  readonly layers: () => LayersOfFile;
}

export type LayersOfFile = LayersText & Pick<SpecOfGraph, 'problems'>;

export interface OnnxFiles {
  /** The same promise for the same state of the file. */
  open(uri: string): Promise<OnnxFile>;
  forget(uri: string): void;
}

/** An editor asks for a text and shows it at once; what it shows is kept with the document. */
const mostFiles = 8;

export function onnxFiles(read: ReadFile, platform: Platform, operatorsOf: OperatorsBeside): OnnxFiles {
  const files = new Map<string, Promise<OnnxFile>>();
  return {
    open: (uri) => {
      const known = files.get(uri);
      if (known !== undefined) return known;
      const opening = read(uri).then((file) => openOnnx(file, uri, platform, operatorsOf));
      files.set(uri, opening);
      for (const oldest of [...files.keys()].slice(0, -mostFiles)) files.delete(oldest);
      opening.catch(() => files.delete(uri));
      return opening;
    },
    forget: (uri) => {
      files.delete(uri);
    },
  };
}

async function openOnnx(
  file: FileOpening,
  uri: string,
  platform: Platform,
  operatorsOf: OperatorsBeside,
): Promise<OnnxFile> {
  const name = fileName(uri);
  if (file.kind === 'failed') return failedFile(name, [file.issue]);
  try {
    const first = openModel(file.source, name);
    const read = await withOperatorsBeside(first, uri, operatorsOf, (operators) =>
      openModel(file.source, name, { operators }),
    );
    const spoiled = file.spoiled?.();
    if (spoiled !== undefined) return failedFile(name, [spoiled]);
    // Where the file itself is text, its spans mean nothing in the text that is shown.
    const opened = { ...read, issues: read.issues.map(({ span: _, ...issue }) => issue) };
    if (opened.onnx === undefined) return failedFile(name, opened.issues);
    const printed = printOnnxText(opened.onnx);
    const neighbours = platform.checkNeighbours?.(opened, uri) ?? [];
    return {
      layers: lazy(() => layersOf(opened)),
      opened: { ...opened, issues: [...opened.issues, ...neighbours] },
      text: printed.text,
      nodes: printed.nodes,
      sections: printed.sections,
      valueLines: new Map([...printed.initializerLines, ...printed.outputLines, ...printed.inputLines]),
    };
  } finally {
    file.close();
  }
}

/** The layers of the file as it is trained. */
function layersOf(opened: OpenedModel): LayersOfFile {
  const { analysis } = asTrained(opened);
  if (analysis === undefined) return failedFile(opened.name, opened.issues).layers();
  const spec = specOfGraph(analysis, opened.name.replace(/\.[a-z]+$/i, ''));
  const operatorOf = new Map<string, number>();
  for (const { index, outputs } of analysis.graph.operators) {
    for (const output of outputs) if (output !== '') operatorOf.set(output, index);
  }
  return { ...spec, operatorOf };
}

function failedFile(name: string, issues: readonly Issue[]): OnnxFile {
  const opened: OpenedModel = {
    format: 'onnx',
    name,
    analysis: undefined,
    onnx: undefined,
    scenario: {},
    issues,
  };
  // A comment is not wrapped by the editor, and what to do comes last.
  const reasons = issues.flatMap(({ message }) => wrapWords(message, () => 78).map((line) => `# ${line}`));
  const text = [`# ${name} cannot be shown`, ...reasons, ''].join('\n');
  return {
    opened,
    layers: () => ({ text, lines: [], problems: [], operatorOf: new Map() }),
    text,
    nodes: [],
    sections: [],
    valueLines: new Map(),
  };
}
