import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';

test.each([
  ['eager PyTorch', 'pytorch-ddp', {}, [8, 4, 29]],
  ['a launch time that is given', 'pytorch-ddp', { 'launch-us': '40' }, [40, 40, 40]],
  // measured/steps-vtrain.csv
  ['Megatron-LM', 'megatron', {}, [60, 20, 80]],
  ['a launch time that is given for it', 'megatron', { 'launch-us': '8' }, [8, 8, 8]],
] as const)('%s: middle, low and high in microseconds', (_, name, options, expected) => {
  const { launch } = resolveFramework({ name, options }).behaviour;
  [launch.middle, launch.low, launch.high].forEach((time, index) => {
    expect(time * 1e6).toBeCloseTo(expected[index] ?? Number.NaN, 9);
  });
});

test.each([
  ['that of a launch where nobody says', {}, undefined],
  ['as given', { 'collective-us': '120' }, 120],
] as const)('the call of a collective takes %s', (_, options, expected) => {
  const { collectiveCall } = resolveFramework({ name: 'pytorch-ddp', options }).behaviour;
  expect(collectiveCall && Math.round(collectiveCall * 1e6)).toBe(expected);
});

/** Ten layers, each a product and its two gradients, and an update that is not part of a pass. */
test('a host that waits for each kernel adds its launch to each', () => {
  const opened = openLayerSpec(
    'inputs: { x: "float32[batch, 1024]" }\nlayers:\n  - l: Linear(1024, 1024, bias=False) * 10\n',
    'm.layers.yaml',
  );
  const passOf = (launch: number, blocking: boolean): number => {
    const options = { 'launch-us': String(launch), 'launch-blocking': String(blocking) };
    const { cost } = estimateModel(opened, [
      {
        cluster: 'dgx-a100',
        gpus: 1,
        batch: 64,
        precision: 'fp32',
        framework: { name: 'pytorch-ddp', options },
      },
    ]);
    const { forward, backward } = cost?.totals.time ?? {};
    return (forward ?? Number.NaN) + (backward ?? Number.NaN);
  };
  const kernels = passOf(1e-6, true);
  expect(kernels).toBeCloseTo(passOf(1e-6, false), 9);
  // The first product needs no gradient of its input.
  for (const launch of [10, 40])
    expect((passOf(launch, true) - kernels) / (launch * 1e-6)).toBeCloseTo(29, 3);
  expect(passOf(40, false)).toBeLessThan(passOf(40, true));
});
