/** Exported models as layer specs: what the text costs is what the graph costs. */

import { describe, expect, test } from 'vitest';
import { specOfGraph } from '../../../server/src/analysis/asSpec/specOfGraph.ts';
import { openLayerSpec, openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readShared, sharedModels, sharedTestName } from '../../support/sharedModels.ts';

const scenario = { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'bf16' } as const;

function quantities({ cost }: ModelEstimate): Readonly<Record<string, number>> {
  const { totals, layers = [] } = cost ?? {};
  return {
    'forward FLOPs': totals?.flops.forward ?? Number.NaN,
    'backward FLOPs': totals?.flops.backward ?? Number.NaN,
    parameters: layers.reduce((sum, layer) => sum + layer.parameters, 0),
    step: totals?.time.step ?? Number.NaN,
    'saved memory': totals?.memory.activations ?? Number.NaN,
  };
}

/** `step +1.2 %` for each quantity that is not within 0.1 %; what keeps the text from being a spec. */
function differences(path: string): readonly string[] {
  const opened = openModel(byteSourceOfBuffer(readShared(path)), path);
  const before = estimateModel(opened, [scenario]);
  if (before.opened.analysis === undefined) return ['not read'];
  const spec = specOfGraph(before.opened.analysis, 'model');
  if (spec.problems.length > 0) return [...new Set(spec.problems.map(({ message }) => message))];
  const again = openLayerSpec(spec.text, 'model.layers.yaml');
  const errors = again.issues.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) return errors.map(({ message }) => message);
  const after = quantities(estimateModel(again, [scenario]));
  return Object.entries(quantities(before)).flatMap(([name, value]) => {
    const change = (after[name] ?? Number.NaN) / value - 1;
    return Math.abs(change) <= 0.001 ? [] : [`${name} ${(100 * change).toFixed(1)} %`];
  });
}

describe('exported models as layer specs', () => {
  const paths = sharedModels('torch-export');
  test(sharedTestName('cost the same within 0.1 %'), { timeout: 600_000 }, () => {
    const found = paths.map((path) => ({
      name: path.replace(/.*\//, '').replace(/\.onnx(\.gz)?$/, ''),
      different: differences(path),
    }));
    const other = found.filter(({ different }) => different.length > 0);
    console.log(`${found.length - other.length} of ${found.length} within 0.1 %`);
    for (const { name, different } of other) console.log(`${name}: ${different.join(', ')}`);
    expect(other.map(({ name }) => name)).toEqual([]);
  });
});
