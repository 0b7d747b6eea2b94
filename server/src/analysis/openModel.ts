/**
 * Opens a model file of any format: sniffs the content, reads it, lowers it where needed, analyses it.
 *
 * The one place where formats and analysis meet; the command line and the language server both start here.
 */

import { type ByteSource, decodeText } from '../formats/byteSource.ts';
import type { ReadCustomOperators } from '../formats/custom-operators/readCustomOperators.ts';
import type { ReadFramework } from '../formats/framework/readFrameworkDescription.ts';
import { readLayerSpec } from '../formats/layer-spec/readLayerSpec.ts';
import { modelNames, selectModel } from '../formats/layer-spec/selectModel.ts';
import { isLibrary } from '../formats/layer-spec/specKeys.ts';
import type { ReadSpec } from '../formats/layer-spec/specReading.ts';
import type { LayerSpec } from '../formats/layer-spec/syntax.ts';
import { locateIssues } from '../formats/locateIssues.ts';
import { type ReadOnnx, readOnnx } from '../formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../formats/onnx/syntax.ts';
import { readOnnxJson } from '../formats/onnx-json/readOnnxJson.ts';
import { readOnnxText } from '../formats/onnx-text/readOnnxText.ts';
import { readOnnxProtobufText } from '../formats/protobuf-text/readOnnxProtobufText.ts';
import { readPt2 } from '../formats/pt2/readPt2.ts';
import { isOnnxProtobufText, type SniffedFormat, sniffFormat } from '../formats/sniffFormat.ts';
import { lowerAten } from '../lowering/aten/lowerAten.ts';
import type { SpecOfConfig } from '../lowering/hugging-face/specOfConfig.ts';
import type { ReadInclude } from '../lowering/layer-spec/blockTable.ts';
import { describeFramework } from '../lowering/layer-spec/describedFramework.ts';
import type { LoweringCache } from '../lowering/layer-spec/loweringCache.ts';
import { lowerLayerSpec } from '../lowering/lowerLayerSpec.ts';
import { formatBytes } from '../model/format.ts';
import type { Issue } from '../model/issue.ts';
import { didYouMean } from '../model/nearestName.ts';
import { readableIssues } from '../model/readableIssues.ts';
import { finish, type Steps } from '../model/steps.ts';
import { bytes } from '../model/units.ts';
import type { AnalysisCache } from './analysisCache.ts';
import { analyzeInSteps } from './analyzeOnnx.ts';
import { checkNodeAttributes } from './checkNodeAttributes.ts';
import { describeOperators } from './describeOperators.ts';
import { limitNodeCount } from './limitNodeCount.ts';
import { modelName } from './modelName.ts';
import { openCaffeNet } from './openCaffeNet.ts';
import type { OpenedModel } from './openedModel.ts';
import { parseDimension } from './parseDimension.ts';
import { recordedStructure } from './recordedStructure.ts';

/** A text has to fit in memory together with its tree. */
const longestText = 2 ** 28;

export interface OpenOptions {
  /** Values of dims that win over those of a layer spec; symbols of an ONNX file are bound later, by a scenario. */
  readonly dimensions?: Readonly<Record<string, number>> | undefined;
  /** Which model of a layer spec that holds several; the first where none is named. */
  readonly model?: string | undefined;
  /** Reads what a layer spec includes; without it nothing can be included. */
  readonly readInclude?: ReadInclude | undefined;
  /**
   * Reads the description of a framework that a layer spec names as a file. It is handed in, because the libraries that
   * check it take longer to load than most models to open, and hardly a spec asks for it.
   */
  readonly readFramework?: ((text: string) => ReadFramework) | undefined;
  /**
   * Writes the layer spec of a `config.json` of transformers. It is handed in, because its tables are needed for no
   * other file.
   */
  readonly specOfConfig?: ((text: string, name: string) => SpecOfConfig) | undefined;
  /** Operators that a person describes in a file beside the model. */
  readonly operators?: ReadCustomOperators | undefined;
  /** What was found out about an earlier state of a layer spec's text, by whoever opens it again and again. */
  readonly memory?: LoweringCache | undefined;
  /** What came out of earlier states of the text. */
  readonly analyses?: AnalysisCache | undefined;
}

/**
 * Reads and analyses `source`.
 *
 * `name` is the file's name, used in messages and to break ties between textual formats. Never throws on bad input:
 * what is wrong is in `issues`, and `analysis` is absent where nothing could be read.
 */
export function openModel(source: ByteSource, name: string, options: OpenOptions = {}): OpenedModel {
  const sniffed = sniffFormat(source, name);
  if (sniffed.format !== undefined && !isBinary(sniffed.format) && source.size > longestText) {
    return unreadable(name, {
      code: 'file/unreadable',
      severity: 'error',
      message: `The text is ${formatBytes(bytes(source.size))} long, more than ${formatBytes(bytes(longestText))}: save the model as binary ONNX, whose weights are never read`,
    });
  }
  if (options.model !== undefined && sniffed.format !== undefined && sniffed.format !== 'layer-spec') {
    return unreadable(name, {
      code: 'spec/model',
      severity: 'error',
      message: `The file is one model, not several: leave out \`#${options.model}\``,
    });
  }
  switch (sniffed.format) {
    case 'layer-spec':
      return openLayerSpec(decodeText(source), name, options);
    case 'onnx': {
      const { model, issues } = readOnnx(source);
      return openRead({ format: 'onnx', name, model, issues, size: source.size }, options);
    }
    case 'onnx-text':
      return openWholeOnnxText(decodeText(source), name, options);
    case 'onnx-protobuf-text':
      return openWritten(readOnnxProtobufText, decodeText(source), name, options);
    case 'onnx-json':
      return openWritten(readOnnxJson, decodeText(source), name, options);
    case 'pt2':
      return openPt2(source, name);
    case 'hugging-face-config':
      return openConfig(decodeText(source), name, options);
    case 'prototxt':
      return openWholeCaffe(decodeText(source), name, options.dimensions);
    case undefined:
      return unreadable(name, {
        code: source.size === 0 ? 'file/empty' : 'file/not-a-model',
        severity: 'error',
        message: sniffed.reason,
      });
  }
}

/** Opens the text of a layer spec, as an editor holds it. */
export const openLayerSpec = (text: string, name: string, options: OpenOptions = {}): OpenedModel =>
  openReadSpec(readLayerSpec(text), name, options);

/** Binary formats are read by position, so that their size does not matter. */
const isBinary = (format: SniffedFormat): boolean => format === 'onnx' || format === 'pt2';

/** Opens the program of an archive of `torch.export` as the ONNX operators it becomes. */
function openPt2(source: ByteSource, name: string): OpenedModel {
  const { program, issues } = readPt2(source);
  if (program === undefined) {
    return notRead('pt2', name, issues);
  }
  const { model, structure } = lowerAten(program, name, parseDimension);
  const analysis = finish(analyzeInSteps(model, structure));
  return {
    format: 'pt2',
    name,
    analysis,
    onnx: model,
    structure,
    scenario: {},
    issues: readableIssues([...issues, ...analysis.issues]),
  };
}

/** Opens a config as the layer spec it describes; places in that text are nobody's to see. */
function openConfig(text: string, name: string, options: OpenOptions): OpenedModel {
  const spec = options.specOfConfig?.(text, name);
  if (spec === undefined) {
    return unreadable(name, {
      code: 'file/not-a-model',
      severity: 'error',
      message: 'The file is the `config.json` of a model, which is not read here: open it as a layer spec',
    });
  }
  if (spec.text === undefined) {
    return notRead('layer-spec', name, spec.issues);
  }
  const opened = openLayerSpec(spec.text, name, options);
  return {
    ...opened,
    writtenSpec: spec.text,
    issues: [
      ...spec.issues,
      ...assumedLength(spec, options),
      ...assumedImages(spec, options),
      ...opened.issues.map(({ span: _, ...issue }) => issue),
    ],
  };
}

/** A number that the config does not say, and that nobody gave. */
function assumedLength({ length }: SpecOfConfig, { dimensions = {} }: OpenOptions): readonly Issue[] {
  if (length === undefined || dimensions.seq !== undefined) return [];
  return [
    {
      code: 'config/assumed-length',
      severity: 'information',
      message: `The config does not say how long a sequence is, and ${length} tokens are assumed`,
      unset: ['seq'],
    },
  ];
}

function assumedImages({ imageTokens }: SpecOfConfig, { dimensions = {} }: OpenOptions): readonly Issue[] {
  if (imageTokens === undefined || dimensions.images !== undefined) return [];
  return [
    {
      code: 'config/assumed-images',
      severity: 'information',
      message: `The config does not say how many images a sequence has, and one of ${imageTokens} tokens is assumed`,
      unset: ['images'],
    },
  ];
}

/** Opens one model of a layer spec that was read: whoever opens several of them reads the text once. */
export const openReadSpec = (read: ReadSpec, name: string, options: OpenOptions = {}): OpenedModel =>
  finish(openSpecInSteps(read, name, options));

/** The same in steps: lowering, and those of the analysis. */
export function* openSpecInSteps(
  { spec, issues }: ReadSpec,
  name: string,
  options: OpenOptions = {},
): Steps<OpenedModel> {
  if (spec === undefined) return notRead('layer-spec', name, readableIssues(issues));
  if (spec.models.length === 0 && isLibrary(spec)) {
    return { ...notRead('layer-spec', name, readableIssues([...issues, blocksAlone])), layerSpec: spec };
  }
  const choice = choiceOfModel(spec, options.model);
  if (choice?.severity === 'error') {
    return { ...notRead('layer-spec', name, [...issues, choice]), layerSpec: spec };
  }
  const lowered = lowerLayerSpec(spec, {
    dimensions: new Map(Object.entries(options.dimensions ?? {})),
    path: name,
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.readInclude === undefined ? {} : { readInclude: options.readInclude }),
    ...(options.memory === undefined ? {} : { memory: options.memory }),
  });
  const scenario = describeFramework(lowered.selected, name, options.readInclude, options.readFramework);
  yield;
  const known = options.analyses?.find(lowered);
  const analysis = known ?? (yield* analyzeInSteps(lowered.model, lowered.structure));
  options.analyses?.keep(lowered, analysis);
  return {
    format: 'layer-spec',
    name: lowered.model.graph.name || name,
    analysis,
    onnx: lowered.model,
    structure: lowered.structure,
    layerSpec: spec,
    selectedModel: lowered.selected,
    withDimensions: (dimensions) => openReadSpec({ spec, issues }, name, atDimensions(options, dimensions)),
    includes: lowered.includes,
    scenario,
    issues: readableIssues([
      ...issues,
      ...(choice === undefined ? [] : [choice]),
      ...lowered.issues,
      ...analysis.issues,
    ]),
  };
}

/** Caches are of the text as it is written. */
function atDimensions(
  { memory: _, analyses: __, ...options }: OpenOptions,
  dimensions: Readonly<Record<string, number>>,
): OpenOptions {
  return { ...options, dimensions: { ...options.dimensions, ...dimensions } };
}

const blocksAlone: Issue = {
  code: 'spec/model',
  severity: 'information',
  message:
    'The file holds blocks for other files to include, and no model of its own, so that nothing is costed',
};

/** What there is to say of the choice between several models: that it is impossible, or that it was not made. */
function choiceOfModel(spec: LayerSpec, wanted: string | undefined): Issue | undefined {
  const names = modelNames(spec);
  const [first] = names;
  if (wanted !== undefined) {
    if (selectModel(spec, wanted) !== undefined) return undefined;
    const held =
      first === undefined ? 'it is one model' : `it has ${names.join(', ')}${didYouMean(wanted, names)}`;
    const message = `The file has no model \`${wanted}\`: ${held}`;
    return { code: 'spec/model', severity: 'error', message };
  }
  if (first === undefined || names.length === 1) return undefined;
  const others = names.slice(1).map((name) => `#${name}`);
  const message = `The file has ${names.length} models, and this is \`${first}\`; add ${others.join(' or ')} to the file's name for another one`;
  return { code: 'spec/model', severity: 'information', message };
}

/**
 * Opens ONNX text, as an editor holds it: where some nodes are wrong, the others are costed, and what follows from the
 * gaps is not reported.
 */
export const openOnnxText = (text: string, name: string, options: OpenOptions = {}): OpenedModel =>
  finish(openOnnxTextInSteps(text, name, options));

/** The same in steps: reading, and those of the analysis. */
export function* openOnnxTextInSteps(
  text: string,
  name: string,
  options: OpenOptions = {},
): Steps<OpenedModel> {
  const { model, partial, issues, spans } = readOnnxText(text);
  yield;
  const opened = yield* openReadInSteps(
    { format: 'onnx-text', name, model: model ?? partial, issues, size: text.length },
    options,
  );
  const shown =
    model === undefined
      ? opened.issues.filter((issue) => issue.code !== 'graph/undefined-value')
      : opened.issues;
  return { ...opened, issues: shown, onnxSpans: spans };
}

/** Opens ONNX text, as a file holds it: all of it, or none. */
function openWholeOnnxText(text: string, name: string, options: OpenOptions): OpenedModel {
  const { model, issues, spans } = readOnnxText(text);
  const read: ReadFile = { format: 'onnx-text', name, model, issues, size: text.length };
  return { ...openRead(read, options), onnxSpans: spans };
}

/**
 * Opens the text of a `.prototxt`, as an editor holds it: a Caffe net, or an ONNX model that was given that name.
 * `dimensions` gives the sizes that a net leaves to its data.
 */
export function openCaffe(
  text: string,
  name: string,
  dimensions: Readonly<Record<string, number>> = {},
): OpenedModel {
  return isOnnxProtobufText(text)
    ? openWritten(readOnnxProtobufText, text, name)
    : readable(openCaffeNet(text, name, new Map(Object.entries(dimensions))));
}

/** Opens a Caffe net, as a file holds it: all of it, or none where a part could not be read. */
function openWholeCaffe(
  text: string,
  name: string,
  dimensions: Readonly<Record<string, number>> | undefined,
): OpenedModel {
  const opened = openCaffe(text, name, dimensions);
  const { inference: _, ...read } = opened;
  return opened.issues.some(({ code }) => code === 'caffe/syntax')
    ? { ...read, analysis: undefined, onnx: undefined }
    : opened;
}

/** Opens a textual form of protobuf, which no editor shows: what is wrong says its place in words. */
function openWritten(
  read: (text: string) => ReadOnnx,
  text: string,
  name: string,
  options: OpenOptions = {},
): OpenedModel {
  const { model, issues } = read(text);
  const located = locateIssues(issues, text);
  return openRead({ format: 'onnx', name, model, issues: located, size: text.length }, options);
}

/** What was read of a file in one of the forms of ONNX. */
interface ReadFile {
  readonly format: 'onnx' | 'onnx-text';
  readonly name: string;
  /** `undefined` where it could not be read. */
  readonly model: OnnxModel | undefined;
  readonly issues: readonly Issue[];
  /** Bytes or characters of the file. */
  readonly size: number;
}

const openRead = (read: ReadFile, options: OpenOptions): OpenedModel =>
  finish(openReadInSteps(read, options));

function* openReadInSteps(
  { format, name, model: read, issues, size }: ReadFile,
  { operators }: OpenOptions,
): Steps<OpenedModel> {
  if (read === undefined) {
    return notRead(format, name, readableIssues(issues));
  }
  const { model, issues: crowded } = limitNodeCount(read, size);
  const described = operators === undefined ? model : describeOperators(model, operators.operators);
  const analysis = yield* analyzeInSteps(described, recordedStructure(model));
  return {
    format,
    name: modelName(model, name),
    analysis,
    onnx: model,
    ...(described === model ? {} : { described }),
    scenario: {},
    issues: readableIssues([
      ...issues,
      ...crowded,
      ...(operators?.issues ?? []),
      ...checkNodeAttributes(model),
      ...analysis.issues,
    ]),
  };
}

const readable = (opened: OpenedModel): OpenedModel => ({ ...opened, issues: readableIssues(opened.issues) });

const unreadable = (name: string, issue: Issue): OpenedModel => notRead('onnx', name, [issue]);

/** A file of which nothing is costed. */
const notRead = (format: OpenedModel['format'], name: string, issues: readonly Issue[]): OpenedModel => ({
  format,
  name,
  analysis: undefined,
  onnx: undefined,
  scenario: {},
  issues,
});
