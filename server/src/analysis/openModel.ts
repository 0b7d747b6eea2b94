/**
 * Opens a model file of any format: sniffs the content, reads it, lowers it where needed, analyses it.
 *
 * The one place where formats and analysis meet; the command line and the language server both start here.
 */

import { type ByteSource, decodeText } from '../formats/byteSource.ts';
import { readLayerSpec } from '../formats/layer-spec/readLayerSpec.ts';
import { readOnnx } from '../formats/onnx/readOnnx.ts';
import { sniffFormat } from '../formats/sniffFormat.ts';
import type { Issue } from '../model/issue.ts';
import { analyzeOnnx } from './analyzeOnnx.ts';
import { lowerLayerSpec } from './lowerLayerSpec.ts';
import type { OpenedModel } from './openedModel.ts';

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
  switch (sniffed.format) {
    case 'layer-spec':
      return openLayerSpec(decodeText(source), name, dimensions);
    case 'onnx':
      return openOnnx(source, name);
    case 'onnx-text':
    case 'prototxt':
      return unreadable(name, {
        code: 'file/not-a-model',
        severity: 'error',
        message: `${formatTitles[sniffed.format]} is not read yet: open the binary ONNX model, or write the network as a layer spec`,
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
    scenario: spec.scenario,
    issues: [...issues, ...lowered.issues, ...analysis.issues],
  };
}

function openOnnx(source: ByteSource, name: string): OpenedModel {
  const { model, issues } = readOnnx(source);
  if (model === undefined) {
    return { format: 'onnx', name, analysis: undefined, onnx: undefined, scenario: {}, issues };
  }
  const analysis = analyzeOnnx(model);
  return {
    format: 'onnx',
    name: model.graph.name || name,
    analysis,
    onnx: model,
    scenario: {},
    issues: [...issues, ...analysis.issues],
  };
}

const formatTitles = { 'onnx-text': 'ONNX text', prototxt: 'A Caffe prototxt' } as const;

function unreadable(name: string, issue: Issue): OpenedModel {
  return { format: 'onnx', name, analysis: undefined, onnx: undefined, scenario: {}, issues: [issue] };
}
