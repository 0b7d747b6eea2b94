/**
 * Writes a model file in another format: a layer spec or ONNX text as binary ONNX, any of them as ONNX text, an ONNX file
 * or a Caffe net as a layer spec.
 *
 * Weights are never read, so that those of a binary model stay where they are; nothing that is left out is left out
 * without a note.
 */

import { type ByteSource, byteSourceOfBuffer, decodeText } from '../formats/byteSource.ts';
import { readLayerSpec } from '../formats/layer-spec/readLayerSpec.ts';
import { locateIssues } from '../formats/locateIssues.ts';
import { fillWeights, type WeightForm } from '../formats/onnx/fillWeights.ts';
import { elementCount, isHole, noPayloads, type Payload, type Payloads } from '../formats/onnx/payload.ts';
import type { OnnxModel } from '../formats/onnx/syntax.ts';
import { writeOnnx } from '../formats/onnx/writeOnnx.ts';
import { fileLimits } from '../formats/onnx-text/printLimits.ts';
import { printOnnxText } from '../formats/onnx-text/printOnnxText.ts';
import { readOnnxText } from '../formats/onnx-text/readOnnxText.ts';
import { sniffFormat } from '../formats/sniffFormat.ts';
import { specOfConfig } from '../lowering/hugging-face/specOfConfig.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { storedBytes } from '../model/elementType.ts';
import { formatBytes, formatCount } from '../model/format.ts';
import type { Issue } from '../model/issue.ts';
import { bytes } from '../model/units.ts';
import { analyzeOnnx } from './analyzeOnnx.ts';
import { specOfGraph } from './asSpec/specOfGraph.ts';
import type { ConversionRequest, TargetFormat, WeightChoice } from './conversionRequest.ts';
import { exportModel } from './exportModel.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';
import { openModel } from './openModel.ts';
import { asTrained } from './restoration/asTrained.ts';

export type Conversion =
  | {
      readonly kind: 'converted';
      readonly content:
        | { readonly to: 'onnx'; readonly bytes: Uint8Array }
        | { readonly to: 'onnx-text' | 'layer-spec'; readonly text: string };
      /** One line each: what the file does not hold, and where it is. */
      readonly notes: readonly string[];
      readonly issues: readonly Issue[];
    }
  | { readonly kind: 'failed'; readonly issues: readonly Issue[] }
  /** The request does not fit the file: what is wrong and what to do. */
  | { readonly kind: 'refused'; readonly message: string };

/** Converts `source`, whose file is called `name`. Never throws on bad input. */
export function convertModel(source: ByteSource, name: string, request: ConversionRequest): Conversion {
  const { format } = sniffFormat(source, name);
  if (format === 'hugging-face-config') return convertConfig(source, name, request);
  const to = request.to ?? (format === 'onnx-text' ? 'onnx' : 'onnx-text');
  if (to === 'layer-spec') return asLayerSpec(source, name, request);
  const refusal = refusalOf(format, name, to, request.weights);
  if (refusal !== undefined) return { kind: 'refused', message: refusal };

  const read = readWhole(source, name, request);
  if (read.model === undefined || read.analysis === undefined) return { kind: 'failed', issues: read.issues };
  const stranger = refusalOfDimensions(name, request, read.dimensions);
  if (stranger !== undefined) return { kind: 'refused', message: stranger };

  const dimensions = new Map(Object.entries(request.dimensions));
  const exported = exportModel(read.model, read.analysis, { lowered: read.lowered, dimensions });
  if (exported.issues.length > 0) return { kind: 'failed', issues: [...read.issues, ...exported.issues] };

  const weights = request.weights ?? (to === 'onnx' ? 'zeros' : 'elided');
  if (weights === 'elided') return asText(exported.model, name, read, true);
  const form: WeightForm =
    weights === 'zeros' ? { kind: 'zeros' } : { kind: 'external', path: request.externalPath };
  const { model, payloads, filled, externalBytes } = fillWeights(exported.model, read.payloads, form);
  const notes = filled === 0 ? [] : [filledNote(name, filled, form, externalBytes, read.lowered)];
  if (to === 'onnx-text') {
    const converted = asText(model, name, read, false);
    return { ...converted, notes: [...notes, ...converted.notes] };
  }
  const written = writeOnnx(model, payloads);
  if (written.bytes === undefined) return { kind: 'failed', issues: [...read.issues, ...written.issues] };
  return {
    kind: 'converted',
    content: { to, bytes: written.bytes },
    notes: [...notes, ...descriptionsNote(model)],
    issues: read.issues,
  };
}

/** Why these formats do not go together, if they do not. */
function refusalOf(
  format: ReturnType<typeof sniffFormat>['format'],
  name: string,
  to: TargetFormat,
  weights: WeightChoice | undefined,
): string | undefined {
  if (to === 'onnx-text' && format === 'onnx-text') {
    return `${name} is ONNX text already; --to onnx writes it as binary ONNX`;
  }
  if (to === 'onnx' && weights === 'elided') {
    return '--weights elided is for ONNX text; binary ONNX takes zeros or external';
  }
  const keepsWeights = format === 'onnx' || format === 'onnx-protobuf-text' || format === 'onnx-json';
  if (to === 'onnx' && keepsWeights && weights === undefined) {
    return `weights are never read, so a copy of ${name} would lose them; say what takes their place with --weights zeros or --weights external, or convert it to ONNX text`;
  }
  return undefined;
}

/** Why a model without one of the dimensions that are asked for is not converted. */
function refusalOfDimensions(
  name: string,
  { dimensions }: ConversionRequest,
  known: readonly string[],
): string | undefined {
  const stranger = Object.keys(dimensions).find((dimension) => !known.includes(dimension));
  if (stranger === undefined) return undefined;
  const list = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  return `${name} has no dimension ${stranger}; ${list}`;
}

/** A config is written as a layer spec, and as anything else from there. */
function convertConfig(source: ByteSource, name: string, request: ConversionRequest): Conversion {
  const { text, dimensions, issues } = specOfConfig(decodeText(source), name, request.dimensions);
  if (text === undefined) return { kind: 'failed', issues };
  const stranger = refusalOfDimensions(name, request, dimensions);
  if (stranger !== undefined) return { kind: 'refused', message: stranger };
  if (request.to === undefined || request.to === 'layer-spec') {
    return { kind: 'converted', content: { to: 'layer-spec', text }, notes: [], issues };
  }
  const spec = byteSourceOfBuffer(new TextEncoder().encode(text));
  const converted = convertModel(spec, 'config.layers.yaml', request);
  return converted.kind === 'refused'
    ? converted
    : { ...converted, issues: [...issues, ...converted.issues] };
}

/** The layers of a model as a layer spec, those of its training where the file holds inference. */
function asLayerSpec(
  source: ByteSource,
  name: string,
  { dimensions, model: chosen, weights, readInclude }: ConversionRequest,
): Conversion {
  if (weights !== undefined)
    return { kind: 'refused', message: 'a layer spec has no weights: leave out --weights' };
  const opened = openModel(source, name, { model: chosen, readInclude });
  if (opened.format === 'layer-spec') return { kind: 'refused', message: `${name} is a layer spec already` };
  const { analysis } = asTrained(opened);
  if (analysis === undefined || opened.issues.some(({ severity }) => severity === 'error')) {
    return { kind: 'failed', issues: opened.issues };
  }
  if (analysis.layers.length === 0)
    return { kind: 'refused', message: `${name} has no layer, so there is no layer spec to write` };
  const { text, problems } = specOfGraph(withDefaults(analysis, dimensions), withoutEnding(name));
  return {
    kind: 'converted',
    content: { to: 'layer-spec', text },
    notes: problems.map(({ line, message }) => `line ${line + 1} is not one of a layer spec: ${message}`),
    issues: opened.issues,
  };
}

const withDefaults = (
  analysis: ModelAnalysis,
  dimensions: Readonly<Record<string, number>>,
): ModelAnalysis => ({
  ...analysis,
  symbols: analysis.symbols.map((symbol) => ({
    ...symbol,
    default: dimensions[symbol.name] ?? symbol.default,
  })),
});

/** `resnet50.onnx` is called `resnet50`. */
const withoutEnding = (file: string): string => file.replace(/\.[a-z]+$/i, '');

interface WholeModel {
  readonly model: OnnxModel | undefined;
  readonly analysis: ModelAnalysis | undefined;
  readonly payloads: Payloads;
  /** Made from a text that names layers, not read from an ONNX file. */
  readonly lowered: boolean;
  /** Names that can be given values. */
  readonly dimensions: readonly string[];
  readonly issues: readonly Issue[];
}

/** Reads a model with all contents that its text has. */
function readWhole(
  source: ByteSource,
  name: string,
  { dimensions, model: chosen, readInclude }: ConversionRequest,
): WholeModel {
  if (sniffFormat(source, name).format === 'onnx-text') {
    const payloads = new Map<TensorLiteral, Payload>();
    const text = decodeText(source);
    const { model, issues } = readOnnxText(text, payloads);
    const analysis = model === undefined ? undefined : analyzeOnnx(model);
    const symbols = analysis?.symbols.map((symbol) => symbol.name) ?? [];
    return {
      model,
      analysis,
      payloads,
      lowered: false,
      dimensions: symbols,
      issues: locateIssues(issues, text),
    };
  }
  const opened = openModel(source, name, { dimensions, model: chosen, readInclude });
  const lowered = opened.format === 'layer-spec' || opened.format === 'prototxt';
  const spec = opened.format === 'layer-spec' ? readLayerSpec(decodeText(source)).spec : undefined;
  const wrong = lowered && opened.issues.some(({ severity }) => severity === 'error');
  return {
    model: wrong ? undefined : opened.onnx,
    analysis: opened.analysis,
    payloads: noPayloads,
    lowered,
    dimensions: [
      ...new Set([
        ...(spec?.dims.map((dim) => dim.name.text) ?? []),
        ...(opened.analysis?.symbols.map((symbol) => symbol.name) ?? []),
      ]),
    ],
    issues: lowered ? locateIssues(opened.issues, decodeText(source)) : opened.issues,
  };
}

function asText(
  model: OnnxModel,
  name: string,
  { payloads, lowered, issues }: WholeModel,
  advise: boolean,
): Extract<Conversion, { kind: 'converted' }> {
  const { text, elided } = printOnnxText(model, fileLimits);
  const notes: string[] = [];
  if (elided > 0) {
    const holes = model.graph.initializers.filter((tensor) => isHole(tensor, payloads));
    const size = holes.reduce((sum, tensor) => sum + bytesOf(tensor), 0);
    const what = `${formatCount(elided)} value${elided === 1 ? '' : 's'}${size === 0 ? '' : ` (weights of ${formatBytes(bytes(size))})`}`;
    const where = lowered ? 'the file has none' : `they stay in ${name}`;
    const advice = advise ? "; ONNX's own parser reads the text with --weights zeros or external" : '';
    notes.push(`${what} written as {...}: ${where}${advice}`);
  }
  const described = lowered ? 0 : model.graph.nodes.filter(({ metadata }) => metadata.size > 0).length;
  if (described > 0) {
    notes.push(
      `metadata of ${formatCount(described)} node${described === 1 ? '' : 's'} not written: ONNX text has no place for it, so that layers may be told apart less well`,
    );
  }
  notes.push(...descriptionsNote(model));
  return { kind: 'converted', content: { to: 'onnx-text', text }, notes, issues };
}

function descriptionsNote({ descriptions = 0 }: OnnxModel): readonly string[] {
  if (descriptions === 0) return [];
  const what = descriptions === 1 ? '1 description' : `${formatCount(descriptions)} descriptions`;
  return [`${what} (doc_string) of graph, nodes or tensors not carried over; that of the model is`];
}

const bytesOf = (tensor: TensorLiteral): number => storedBytes(tensor.elementType, elementCount(tensor));

function filledNote(
  name: string,
  filled: number,
  form: WeightForm,
  externalBytes: number,
  lowered: boolean,
): string {
  const source = lowered ? 'the file has none' : `those of ${name} are not carried over`;
  const what = `${formatCount(filled)} weight${filled === 1 ? '' : 's'}`;
  return form.kind === 'zeros'
    ? `${what} written as zeros: ${source}`
    : `${what} refer to ${form.path} (${formatBytes(bytes(externalBytes))}), which is yours to write: ${source}`;
}
