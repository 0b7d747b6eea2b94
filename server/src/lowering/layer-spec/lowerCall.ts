/** A call of a layer as operators: those it had before, those of a line like it, or new ones. */

import type { LayerMarks } from '../../model/graph.ts';
import { operatorsOf } from './callOperators.ts';
import { copyLayer, patternOf } from './copyLayer.ts';
import { evaluate } from './evaluate.ts';
import { type KeptLayer, type LayerBasis, readsOf } from './keptLayer.ts';
import type { SpecValue } from './layerDefinition.ts';
import type { RunCache } from './loweringCache.ts';
import type { Line, LoweringRun } from './loweringRun.ts';
import type { Outputs } from './scope.ts';
import { unreadableCall } from './standIns.ts';
import { type Feed, sourcesOf } from './tensorArguments.ts';

export function lowerCall(line: Line, run: LoweringRun): Outputs {
  const { layer, call, scope, path, ancestors, marks } = line;
  const start = run.graph.size;
  const feed: Feed = {
    sources: sourcesOf(call, scope, line.carried),
    previous: line.carried[0] ?? line.previous,
  };
  const basis: LayerBasis = {
    written: call.written,
    outputs: layer.names.length,
    frozen: marks.frozen === true,
    values: scope.values,
    reads: readsOf(call, scope, feed),
  };
  const { outputs, weights } =
    keptLayer(path, basis, run) ?? copiedLayer(path, basis, run) ?? freshLayer(line, feed, basis, run);
  scope.weights.set(layer.name.text, weights);
  const own: LayerMarks = { ...marks, ...statedMarks(line) };
  run.addLayer(path, call.callee.text, ancestors, start, scope.line ?? layer.span, own);
  return outputs;
}

/** `sparse=True` of a table, `fused=True` of a layer with attention, its `dropout_p`. */
function statedMarks(line: Line): LayerMarks {
  const isTable = line.call.callee.text.startsWith('Embedding');
  return {
    ...(isTable && isStated(line, 'sparse') ? { sparseGradient: true } : {}),
    ...(isStated(line, 'fused') ? { fusedAttention: true } : {}),
    ...dropoutOf(line),
  };
}

function dropoutOf(line: Line): Pick<LayerMarks, 'attentionDropout'> {
  const share = stated(line, 'dropout_p');
  return typeof share === 'number' && share > 0 ? { attentionDropout: share } : {};
}

const isStated = (line: Line, name: string): boolean => stated(line, name) === true;

function stated({ call, scope }: Line, name: string): SpecValue | undefined {
  const given = call.arguments.find(({ keyword }) => keyword?.text === name);
  return given && evaluate(given.value, scope.values, () => undefined);
}

/** The layer as it was lowered before, where nothing it depends on has changed. */
function keptLayer(path: string, basis: LayerBasis, run: LoweringRun): KeptLayer | undefined {
  const layer = run.memory.find(path, basis);
  if (layer === undefined || !run.graph.adopt(layer.emitted)) return undefined;
  return keep(path, layer, run);
}

/** The layer as a copy of one that is written alike. */
function copiedLayer(path: string, basis: LayerBasis, run: LoweringRun): KeptLayer | undefined {
  const { graph, memory } = run;
  const pattern = memory.patternFor(basis);
  const copy = pattern && copyLayer(pattern, path, basis, graph);
  if (copy === undefined || !graph.adopt(copy.emitted)) return undefined;
  return keep(path, { ...copy, outputs: knownOutputs(copy.outputs, memory) }, run);
}

function keep(path: string, layer: KeptLayer, { memory, pinned }: LoweringRun): KeptLayer {
  for (const dimension of layer.pinned) pinned.add(dimension);
  memory.keep(path, layer);
  return layer;
}

function freshLayer(
  line: Line,
  feed: Feed,
  basis: LayerBasis,
  run: LoweringRun,
): Pick<KeptLayer, 'outputs' | 'weights'> {
  const { graph, memory, log } = run;
  const { reportCount } = log;
  graph.begin();
  const { outputs: lowered, weights, pinned } = operatorsOf(line, feed, run);
  for (const dimension of pinned) run.pinned.add(dimension);
  if (lowered === undefined) return { outputs: unreadableCall(line, run), weights };
  const outputs = knownOutputs(lowered, memory);
  // A layer that has something to say says it anew, where its words stand now.
  if (reportCount === log.reportCount) {
    const layer = { basis, emitted: graph.emitted(), outputs, weights, pinned };
    memory.keep(line.path, layer);
    const pattern = patternOf(line.path, layer, graph);
    if (pattern !== undefined) memory.keepPattern(pattern);
  }
  return { outputs, weights };
}

/** Outputs as the objects they were before, where they are equal. */
const knownOutputs = ({ tensors, names }: Outputs, memory: RunCache): Outputs => ({
  tensors: tensors.map((tensor) => memory.sameTensor(tensor)),
  names,
});
