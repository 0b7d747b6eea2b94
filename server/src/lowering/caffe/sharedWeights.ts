/** Parameters of a Caffe net, which layers share by name. */

import type { CaffeLayer } from '../../formats/caffe/syntax.ts';
import { countElements } from '../../model/countElements.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { CaffeRun } from './caffeRun.ts';

/** Parameter `index` of a layer: the one before of its name, or one of its own, frozen where its rate is 0. */
export function weightOf(
  layer: CaffeLayer,
  index: number,
  path: string,
  suffix: string,
  dimensions: readonly number[],
  run: CaffeRun,
): Tensor {
  const { graph, sharedWeights } = run;
  const spec = layer.parameters[index];
  const name = spec?.name ?? '';
  const before = sharedWeights.get(name);
  if (before !== undefined && spec !== undefined) {
    if (before.dimensions.join() === dimensions.join()) return before.tensor;
    if (spec.permissive && countElements(before.dimensions) === countElements(dimensions)) {
      const target = graph.constant('int64', [dimensions.length], dimensions);
      return graph.node(path, '', 'Reshape', [before.tensor, target], 1, {})[0] ?? before.tensor;
    }
    const [there, here] = [before.dimensions, dimensions].map((sizes) => `[${sizes.join(', ')}]`);
    const message = `Parameter \`${name}\` is ${there} where it is first used, but ${here} here: shared parameters have one shape`;
    run.report('caffe/layer', message, spec.span);
  }
  const role = spec?.learningRate === 0 ? 'frozen' : 'parameter';
  const tensor = graph.stored(`${path}.${suffix}`, role, dimensions);
  if (name !== '' && before === undefined) sharedWeights.set(name, { tensor, dimensions });
  return tensor;
}
