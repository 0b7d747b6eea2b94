/** One layer of a Caffe net while it becomes operators: its blobs, its parameters, and the graph it writes to. */

import { findMessage } from '../../formats/caffe/messages.ts';
import { type CaffeLayer, messageOf, spanOf, wasRefused } from '../../formats/caffe/syntax.ts';
import { capitalized } from '../../model/capitalized.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { CaffeRun } from './caffeRun.ts';
import { hostBlob } from './hostBlobs.ts';
import type { CaffeCall, CaffeLayerDefinition } from './layerDefinition.ts';
import { weightOf } from './sharedWeights.ts';

/** `name` is the path of what it becomes. */
export function makeCaffeCall(
  layer: CaffeLayer,
  definition: CaffeLayerDefinition,
  name: string,
  inputs: readonly Tensor[],
  run: CaffeRun,
): CaffeCall {
  const { graph } = run;
  const fields = [definition.parameters ?? '', ...(definition.otherParameters ?? [])];
  const field = fields.find((each) => messageOf(layer.fields, each) !== undefined) ?? fields[0] ?? '';
  const type = findMessage('LayerParameter')?.fields.get(field)?.type;
  const message = type?.kind === 'message' ? type.message : '';
  const parameters = messageOf(layer.fields, field) ?? {
    fields: new Map(),
    schema: findMessage(message)?.fields ?? new Map(),
    span: layer.typeSpan,
  };
  const problem = (code: IssueCode, what: string, span: TextSpan | undefined): undefined =>
    run.report(code, capitalized(what), span ?? layer.typeSpan);
  return {
    layer,
    inputs,
    tops: Math.max(layer.tops.length, definition.tops[0], definition.isLoss ? 1 : 0),
    parameters,
    emit: (operator, tensors, attributes = {}) =>
      graph.node(name, '', operator, tensors, 1, attributes)[0] ?? nothing,
    emitMany: (operator, tensors, outputs, attributes = {}) =>
      graph.node(name, '', operator, tensors, outputs, attributes),
    weight: (index, suffix, dimensions) => weightOf(layer, index, name, suffix, dimensions, run),
    buffer: (suffix, dimensions) => graph.stored(`${name}.${suffix}`, 'buffer', dimensions),
    fromHost: (index, shape, elementType = 'float32') =>
      hostBlob(layer.tops[index]?.text ?? `${name}:${index}`, elementType, shape, run),
    size: (dimension, standard) => {
      const size = run.dimensions.get(dimension) ?? standard;
      run.usedSizes.set(dimension, size);
      return size;
    },
    batch: graph.batch ?? 1,
    isTraining: run.isTraining(),
    integers: (values) => graph.constant('int64', [values.length], values),
    scalar: (value, elementType = 'float32') => graph.constant(elementType, [], [value]),
    problem: (what, span) => problem('caffe/layer', what, span),
    missing: (needed, what) =>
      wasRefused(parameters, needed)
        ? undefined
        : problem('caffe/layer', `\`${needed}\` is missing: ${what}`, spanOf(parameters, needed)),
    mismatch: (what, span) => problem('shape/mismatch', what, span),
    remark: (code, message, severity, unset) => run.report(code, message, layer.typeSpan, severity, unset),
    unknown: (reason, shapes = []) => {
      run.statedShapes.set(layer, shapes);
      run.reasons.set(layer, reason);
      const what = `The cost of ${layer.type} is unknown: ${reason}`;
      return run.report('caffe/unknown-cost', what, layer.typeSpan, 'warning');
    },
  };
}

const nothing: Tensor = { name: '', elementType: undefined, shape: undefined };
