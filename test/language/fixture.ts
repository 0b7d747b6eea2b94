/**
 * Layer specs with expectations under their lines. A line of a fixture that starts with `#` and carets states
 * what is expected of the line above it:
 *
 *     - fc: Linear(d, 4*d)
 *     # hint: 1.00 GFLOP
 *       ^^ error: shape/mismatch
 *
 * The expectations stay in the text, where YAML takes them for comments.
 */

import { openReadSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { readLayerSpec } from '../../server/src/formats/layer-spec/readLayerSpec.ts';
import { modelNames } from '../../server/src/formats/layer-spec/selectModel.ts';
import { joinViews, type ModelView } from '../../server/src/language/modelView.ts';
import { viewLayerSpec } from '../../server/src/language/viewLayerSpec.ts';
import type { LayerMeasurements } from '../../server/src/model/measurement.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

export interface Expectation {
  readonly line: number;
  readonly kind: string;
  readonly text: string;
  /** Columns of the carets, where there are any. */
  readonly columns: readonly [number, number] | undefined;
}

/** One GPU, so that a test says what it is about and nothing else. */
export const oneGpu: ScenarioRequest = {
  cluster: 'a100-sxm-80gb',
  gpus: 1,
  precision: 'bf16',
  optimizer: 'adamw',
};

export function viewOf(
  text: string,
  request: ScenarioRequest = oneGpu,
  measurements?: LayerMeasurements,
): ModelView {
  const read = readLayerSpec(text);
  const [first, ...others] = read.spec === undefined ? [] : modelNames(read.spec);
  const view = (model?: string): ModelView => {
    const opened = openReadSpec(read, 'test.layers.yaml', { model });
    return viewLayerSpec(text, estimateModel(opened, [opened.scenario, request]), measurements);
  };
  const one = view(first);
  return joinViews([one, ...others.map(view)]) ?? one;
}

export function expectations(text: string): readonly Expectation[] {
  const found: Expectation[] = [];
  let line = -1;
  for (const [number, content] of text.split('\n').entries()) {
    const match = /^\s*#\s*(\^*)\s*([a-z]+): (.*)$/.exec(content);
    if (match === null) {
      line = number;
      continue;
    }
    const [, carets = '', kind = '', expected = ''] = match;
    const start = content.indexOf('^');
    found.push({
      line,
      kind,
      text: expected.trim(),
      columns: carets === '' ? undefined : [start, start + carets.length],
    });
  }
  return found;
}
