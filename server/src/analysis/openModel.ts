/**
 * Opens a model file of any format: sniffs the content, reads it, lowers it where needed, analyses it.
 *
 * The one place where formats and analysis meet; the command line and the language server both start here.
 */

import { type ByteSource, decodeText } from '../formats/byteSource.ts';
import { readLayerSpec } from '../formats/layer-spec/readLayerSpec.ts';
import { locateIssues } from '../formats/locateIssues.ts';
import { type ReadOnnx, readOnnx } from '../formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../formats/onnx/syntax.ts';
import { readOnnxJson } from '../formats/onnx-json/readOnnxJson.ts';
import { readOnnxText } from '../formats/onnx-text/readOnnxText.ts';
import { readOnnxProtobufText } from '../formats/protobuf-text/readOnnxProtobufText.ts';
import { sniffFormat } from '../formats/sniffFormat.ts';
import { formatBytes } from '../model/format.ts';
import type { Issue } from '../model/issue.ts';
import { bytes } from '../model/units.ts';
import { analyzeOnnx } from './analyzeOnnx.ts';
import { lowerLayerSpec } from './lowerLayerSpec.ts';
import type { OpenedModel } from './openedModel.ts';
import { recordedStructure } from './recordedStructure.ts';

/** A text has to fit in memory together with its tree. */
const longestText = 2 ** 28;

/**
 * Reads and analyses `source`.
 *
 * `name` is the file's name, used in messages and to break ties between textual formats. `dimensions` overrides
 * the defaults of a layer spec; symbols of an ONNX file are bound later, when a scenario is costed. Never throws
 * on bad input: what is wrong is in `issues`, and `analysis` is absent where nothing could be read.
 */
export function openModel(
  source: ByteSource,
  name: string,
  dimensions: Readonly<Record<string, number>> = {},
): OpenedModel {
  const sniffed = sniffFormat(source, name);
  if (sniffed.format !== undefined && sniffed.format !== 'onnx' && source.size > longestText) {
    return unreadable(name, {
      code: 'file/unreadable',
      severity: 'error',
      message: `The text is ${formatBytes(bytes(source.size))} long, more than ${formatBytes(bytes(longestText))}: save the model as binary ONNX, whose weights are never read`,
    });
  }
  switch (sniffed.format) {
    case 'layer-spec':
      return openLayerSpec(decodeText(source), name, dimensions);
    case 'onnx': {
      const { model, issues } = readOnnx(source);
      return openRead('onnx', name, model, issues);
    }
    case 'onnx-text':
      return openWholeOnnxText(decodeText(source), name);
    case 'onnx-protobuf-text':
      return openWritten(readOnnxProtobufText, decodeText(source), name);
    case 'onnx-json':
      return openWritten(readOnnxJson, decodeText(source), name);
    case 'prototxt':
      return unreadable(name, {
        code: 'file/not-a-model',
        severity: 'error',
        message:
          'A Caffe prototxt is not read yet: open the binary ONNX model, or write the network as a layer spec',
      });
    case undefined:
      return unreadable(name, {
        code: source.size === 0 ? 'file/empty' : 'file/not-a-model',
        severity: 'error',
        message: sniffed.reason,
      });
  }
}

/** Opens the text of a layer spec, as an editor holds it. */
export function openLayerSpec(
  text: string,
  name: string,
  dimensions: Readonly<Record<string, number>> = {},
): OpenedModel {
  const { spec, issues } = readLayerSpec(text);
  if (spec === undefined) {
    return { format: 'layer-spec', name, analysis: undefined, onnx: undefined, scenario: {}, issues };
  }
  const lowered = lowerLayerSpec(spec, new Map(Object.entries(dimensions)));
  const analysis = analyzeOnnx(lowered.model, lowered.structure);
  return {
    format: 'layer-spec',
    name: lowered.model.graph.name || name,
    analysis,
    onnx: lowered.model,
    layerSpec: spec,
    scenario: spec.scenario,
    issues: [...issues, ...lowered.issues, ...analysis.issues],
  };
}

/**
 * Opens ONNX text, as an editor holds it: where some nodes are wrong, the others are costed, and what follows from the
 * gaps is not reported.
 */
export function openOnnxText(text: string, name: string): OpenedModel {
  const { model, partial, issues, spans } = readOnnxText(text);
  const opened = openRead('onnx-text', name, model ?? partial, issues);
  const shown =
    model === undefined
      ? opened.issues.filter((issue) => issue.code !== 'graph/undefined-value')
      : opened.issues;
  return { ...opened, issues: shown, onnxSpans: spans };
}

/** Opens ONNX text, as a file holds it: all of it, or none. */
function openWholeOnnxText(text: string, name: string): OpenedModel {
  const { model, issues, spans } = readOnnxText(text);
  return { ...openRead('onnx-text', name, model, issues), onnxSpans: spans };
}

/** Opens a textual form of protobuf, which no editor shows: what is wrong says its place in words. */
function openWritten(read: (text: string) => ReadOnnx, text: string, name: string): OpenedModel {
  const { model, issues } = read(text);
  return openRead('onnx', name, model, locateIssues(issues, text));
}

function openRead(
  format: 'onnx' | 'onnx-text',
  name: string,
  model: OnnxModel | undefined,
  issues: readonly Issue[],
): OpenedModel {
  if (model === undefined) {
    return { format, name, analysis: undefined, onnx: undefined, scenario: {}, issues };
  }
  const analysis = analyzeOnnx(model, recordedStructure(model));
  return {
    format,
    name: model.graph.name || name,
    analysis,
    onnx: model,
    scenario: {},
    issues: [...issues, ...analysis.issues],
  };
}

function unreadable(name: string, issue: Issue): OpenedModel {
  return { format: 'onnx', name, analysis: undefined, onnx: undefined, scenario: {}, issues: [issue] };
}
