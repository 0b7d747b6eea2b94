/** A model file by what a report tells apart, so that two forms of one model can be compared. */

import { expect } from 'vitest';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

/** What a report tells apart: layers with their parameters and products, and the total of parameters. */
export function costFacts(content: string | Uint8Array, name: string) {
  const { analysis, issues } = openModel(byteSourceOfBuffer(Buffer.from(content)), name);
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  if (analysis === undefined) throw new Error(`${name} was not analysed`);
  const batch = analysis.batchSymbol ?? 'batch';
  const { costs } = bindTrainingGraph(analysis, new Map([[batch, 2]]), 'training');
  return {
    symbols: analysis.symbols,
    parameters: analysis.parameters.reduce((sum, { elements }) => sum + elements, 0),
    layers: analysis.layers.map(({ name: layer, type, operators }) => {
      const flops = operators.map((index) => {
        const cost = costs[index];
        return cost?.kind === 'known'
          ? cost.forward.flops + cost.backwardData.flops + cost.backwardWeight.flops
          : Number.NaN;
      });
      return `${layer} ${type} ${flops.reduce((sum, count) => sum + count, 0)}`;
    }),
  };
}
