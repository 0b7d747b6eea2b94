/** What a layer spec comes to: the shape of its output, its parameters and FLOPs, and everything wrong with it. */

import { analyzeOnnx } from '../../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../../server/src/analysis/bindTrainingGraph.ts';
import { readLayerSpec } from '../../../server/src/formats/layer-spec/readLayerSpec.ts';
import { lowerLayerSpec } from '../../../server/src/lowering/lowerLayerSpec.ts';
import { printDimension } from '../../../server/src/model/dimension.ts';
import { isKnownShape } from '../../../server/src/model/graph.ts';

export interface SpecCost {
  /** `2×8×30×30`, or `?` where it is unknown. */
  readonly shape: string;
  readonly parameters: number;
  readonly flops: { readonly forward: number; readonly backward: number };
  /** Issues, and operators whose cost is unknown. */
  readonly problems: readonly string[];
}

/** Of the last layer or the first of `outputs`; nothing needs a gradient but parameters. */
export function costOfSpec(text: string): SpecCost {
  const { spec, issues } = readLayerSpec(text);
  if (spec === undefined) throw new Error('the spec was not read');
  const lowered = lowerLayerSpec(spec);
  const analysis = analyzeOnnx(lowered.model, lowered.structure);
  const training = bindTrainingGraph(analysis, lowered.structure.symbolDefaults, 'training');
  const type = analysis.graph.values.get(analysis.graph.outputs[0] ?? '')?.type;
  const known = type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;
  const flops = { forward: 0, backward: 0 };
  const unknown: string[] = [];
  for (const [index, cost] of training.costs.entries()) {
    if (cost.kind === 'unknown') unknown.push(`${analysis.graph.operators[index]?.type}: ${cost.reason}`);
    else {
      flops.forward += cost.forward.flops;
      flops.backward += cost.backwardData.flops + cost.backwardWeight.flops;
    }
  }
  const all = [...issues, ...lowered.issues, ...analysis.issues];
  return {
    shape: known?.map(printDimension).join('×') ?? '?',
    parameters: analysis.parameters.reduce((sum, parameter) => sum + parameter.elements, 0),
    flops,
    problems: [...all.map(({ code, message }) => `[${code}] ${message}`), ...unknown],
  };
}

/** A spec of one layer. */
export function specOf(inputs: Readonly<Record<string, string>>, call: string): string {
  const declared = Object.entries(inputs).map(([name, type]) => `  ${name}: ${type}\n`);
  const given = declared.length === 0 ? 'inputs: {}\n' : `inputs:\n${declared.join('')}`;
  return `${given}layers:\n  - y: ${call}\n`;
}
