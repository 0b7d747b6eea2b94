/**
 * Reads a binary ONNX model: its structure, never its weights.
 *
 * A file that is no model gives no model and one error; what is odd in a model gives the model and issues.
 */

import type { Issue } from '../../model/issue.ts';
import type { ByteSource } from '../byteSource.ts';
import { looksBinary, recognizeForeignFormat } from '../foreignFormats.ts';
import { knownIrVersion, ModelProto } from './fields.ts';
import { type GraphParts, readFunction, readGraph } from './readGraph.ts';
import { Reading } from './reading.ts';
import type { OnnxFunction, OnnxGraph, OnnxModel } from './syntax.ts';
import { withOrigins } from './tensorOrigins.ts';
import { type WireProblem, WireReader, wireTypes } from './wireReader.ts';

export interface ReadOnnx {
  readonly model: OnnxModel | undefined;
  readonly issues: readonly Issue[];
}

/** `at` says where an offset is, for bytes that stand for a text. */
export function readOnnx(source: ByteSource, at?: (offset: number) => string): ReadOnnx {
  if (source.size === 0) {
    return refuse(
      'file/empty',
      'The file is empty: export the model again, or check that the download finished',
    );
  }
  const foreign = recognizeForeignFormat(source);
  if (foreign !== undefined) {
    return refuse('file/not-a-model', `The file is ${foreign.name}, not an ONNX model: ${foreign.advice}`);
  }
  if (!looksBinary(source.read(0, 512))) {
    return refuse(
      'file/not-a-model',
      'The file is text, not a binary ONNX model: name a layer spec *.layers.yaml and ONNX text *.onnxtxt',
    );
  }
  const wire = new WireReader(source);
  const reading = new Reading(wire, at ?? ((offset) => `at byte ${offset}`));
  const model = readModel(reading, source.size);
  if (wire.problem !== undefined) {
    const began = reading.mistypedModelField === undefined && model.irVersion > 0 && model.irVersion < 1000;
    const { offset } = wire.problem;
    return refuseProblem(wire.problem, began, at?.(offset) ?? `at byte ${offset} of ${source.size}`);
  }
  if (!isPlausible(model) || reading.mistypedModelField !== undefined) {
    const where =
      reading.mistypedModelField === undefined
        ? `no graph among its ${model.fields} fields`
        : `the field ${reading.at(reading.mistypedModelField)} is not one of a model`;
    return refuse(
      'file/not-a-model',
      `The file is not an ONNX model (${where}): open the .onnx file of the model itself`,
    );
  }
  const { fields: _, graph: parts, ...rest } = model;
  if (parts === undefined) return { model: undefined, issues: reading.issues };
  const graph = { ...parts, initializers: withOrigins(parts, source, reading.payloads) };
  if (model.irVersion > knownIrVersion) {
    reading.issues.unshift({
      code: 'onnx/newer-ir',
      severity: 'information',
      message: `IR version ${model.irVersion} is newer than ${knownIrVersion}, the newest supported one: known fields are read, unknown fields are reported one by one`,
    });
  }
  return { model: { ...rest, graph }, issues: reading.issues };
}

interface ModelFields extends Omit<OnnxModel, 'graph'> {
  readonly graph: OnnxGraph | undefined;
  /** How many fields there were. */
  readonly fields: number;
}

function readModel(reading: Reading, end: number): ModelFields {
  const { wire } = reading;
  let irVersion = 0;
  let producerName = '';
  let producerVersion = '';
  let domain = '';
  let modelVersion = 0;
  let docString = '';
  let graph: GraphParts | undefined;
  let fields = 0;
  const operatorSets: { domain: string; version: number }[] = [];
  const functions: OnnxFunction[] = [];
  const metadata = new Map<string, string>();
  while (wire.nextField(end)) {
    fields += 1;
    switch (wire.field) {
      case ModelProto.ir_version:
        irVersion = reading.integer('ModelProto');
        break;
      case ModelProto.producer_name:
        producerName = reading.string('ModelProto');
        break;
      case ModelProto.producer_version:
        producerVersion = reading.string('ModelProto');
        break;
      case ModelProto.domain:
        domain = reading.string('ModelProto');
        break;
      case ModelProto.model_version:
        modelVersion = reading.integer('ModelProto');
        break;
      case ModelProto.graph: {
        const inner = reading.message('ModelProto');
        if (inner !== undefined) graph = readGraph(reading, inner, graph);
        break;
      }
      case ModelProto.opset_import: {
        const set = reading.operatorSet('ModelProto');
        if (set !== undefined) operatorSets.push(set);
        break;
      }
      case ModelProto.functions: {
        const inner = reading.message('ModelProto');
        if (inner !== undefined) functions.push(readFunction(reading, inner));
        break;
      }
      case ModelProto.metadata_props:
        reading.entry('ModelProto', metadata);
        break;
      case ModelProto.doc_string:
        docString = reading.string('ModelProto');
        break;
      case ModelProto.training_info:
      case ModelProto.configuration:
        if (reading.expect('ModelProto', wireTypes.length)) wire.skip();
        break;
      default:
        reading.skip('ModelProto', ModelProto);
    }
  }
  return {
    irVersion,
    producerName,
    producerVersion,
    domain,
    modelVersion,
    operatorSets,
    graph,
    functions,
    metadata,
    ...(docString === '' ? {} : { docString }),
    ...(reading.descriptions === 0 ? {} : { descriptions: reading.descriptions }),
    fields,
  };
}

/** Whether there is a graph, and something that only a model has. */
function isPlausible(model: ModelFields): boolean {
  return (
    model.graph !== undefined &&
    (model.irVersion > 0 || model.operatorSets.length > 0 || model.graph.nodes.length > 0)
  );
}

/** Bytes that stop making sense: either the file never was a model, or it `began` like one and is damaged. */
function refuseProblem(problem: WireProblem, began: boolean, at: string): ReadOnnx {
  if (!began) {
    return refuse(
      'file/not-a-model',
      `The file is not an ONNX model (${problem.what} ${at}): open the .onnx file of the model itself`,
    );
  }
  switch (problem.kind) {
    case 'truncated':
      return refuse(
        'file/truncated',
        `The file ends too early (${problem.what} ${at}): copy or export the model again`,
      );
    case 'malformed':
      return refuse(
        'file/corrupt',
        `The file is corrupt (${problem.what} ${at}): copy or export the model again`,
      );
    case 'depth':
      return refuse(
        'file/corrupt',
        `The file is corrupt or malicious (${problem.what} ${at}): export the model again`,
      );
  }
}

const refuse = (code: Issue['code'], message: string): ReadOnnx => ({
  model: undefined,
  issues: [{ code, severity: 'error', message }],
});
