/** More of the same is never faster: kernels of every GPU, when one side of what they do is doubled. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { builtInGpus } from '../../server/src/hardware/gpus.ts';
import type { KernelEnvironment } from '../../server/src/hardware/kernelEnvironment.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import type { Dtype } from '../../server/src/model/dtype.ts';
import { bytes, flops } from '../../server/src/model/units.ts';

/** Curves are fitted, so that one step up of a kernel may save a little. */
const tolerated = 1.05;

const gpus = builtInGpus.filter(({ architecture }) => architecture !== 'cpu');

const environments: readonly (KernelEnvironment | undefined)[] = [
  undefined,
  { layout: 'channels-first', mixed: false },
  { layout: 'channels-first', mixed: true },
  { layout: 'channels-last', mixed: true },
  { layout: 'channels-first', mixed: true, inference: true },
];

interface Where {
  readonly dtype: Dtype;
  readonly environment: KernelEnvironment | undefined;
}

const where = {
  dtype: fc.constantFrom<Dtype>('fp32', 'tf32', 'fp16', 'bf16'),
  environment: fc.constantFrom(...environments),
};

/** Of every order of magnitude alike, from `least` to `most`. */
const upTo = (most: number, least = 1): fc.Arbitrary<number> =>
  fc
    .integer({ min: Math.round(64 * Math.log2(least)), max: Math.round(64 * Math.log2(most)) })
    .map((exponent) => Math.round(2 ** (exponent / 64)));

/** Elements of 16 bytes in half precision. */
const vectors = (count: number): number => 8 * count;

const widthOf = (dtype: Dtype): number => (dtype.endsWith('32') ? 4 : 2);

const inside = ({ dtype, environment }: Where) => ({
  dtype,
  operations: 0,
  launches: 1,
  ...(environment === undefined ? {} : { environment }),
});

/** `work` with one of `sides` doubled, for values that `arbitrary` gives. */
function holds<Values extends Where>(
  arbitrary: fc.Arbitrary<Values>,
  work: (values: Values) => KernelWork,
  sides: readonly (keyof Values & string)[],
): void {
  fc.assert(
    fc.property(fc.constantFrom(...gpus), arbitrary, fc.constantFrom(...sides), (gpu, values, side) => {
      const doubled = { ...values, [side]: 2 * Number(values[side]) };
      const [less, more] = [kernelTime(gpu, work(values)), kernelTime(gpu, work(doubled))];
      expect(more.time * tolerated, `${gpu.name}, twice the ${side}`).toBeGreaterThanOrEqual(less.time);
    }),
    { numRuns: 3000 },
  );
}

/**
 * A single matmul and a batch are other kernels, so no side of a single one is its batch. Rows of whole vectors are faster than
 * shorter ones of half a vector: all have whole ones.
 */
test('a matmul', () => {
  const sizes = fc.record({
    ...where,
    layout: fc.constantFrom('nn', 'tn', 'nt'),
    batch: fc.oneof(fc.constant(1), upTo(256, 2)),
    m: upTo(2048).map(vectors),
    n: upTo(2048).map(vectors),
    k: upTo(2048).map(vectors),
  });
  holds(
    sizes,
    ({ dtype, environment, layout, batch, m, n, k }) => ({
      ...inside({ dtype, environment }),
      class: 'matmul',
      flops: flops(2 * batch * m * n * k),
      bytes: bytes(batch * (m * k + k * n + m * n) * widthOf(dtype)),
      bytesPerElement: widthOf(dtype),
      matmuls: [{ shape: { kind: 'matmul', layout, batch, m, n, k }, count: 1 }],
    }),
    ['m', 'n', 'k'],
  );
});

/**
 * More channels may be faster: libraries have better kernels for whole vectors of them, as measured steps show. So may an even
 * number of positions be, which filters of one element take as they lie.
 */
test('a convolution', () => {
  const sizes = fc.record({
    ...where,
    pass: fc.constantFrom('forward', 'data', 'weight'),
    isDepthwise: fc.boolean(),
    images: upTo(256),
    channels: upTo(1024),
    filters: upTo(1024),
    side: upTo(28).map((side) => 4 * side),
    window: fc.constantFrom(1, 3, 5, 7),
  });
  holds(
    sizes,
    ({ dtype, environment, pass, isDepthwise, images, channels, filters: any, side, window }) => {
      const [groups, filters] = isDepthwise ? [channels, channels] : [1, any];
      const [positions, kernelElements] = [side * side, window * window];
      return {
        ...inside({ dtype, environment }),
        class: isDepthwise ? 'depthwise-convolution' : 'convolution',
        flops: flops((2 * images * positions * filters * channels * kernelElements) / groups),
        bytes: bytes(
          widthOf(dtype) *
            (images * (channels + filters) * positions + (filters * channels * kernelElements) / groups),
        ),
        bytesPerElement: widthOf(dtype),
        matmuls: [
          {
            shape: {
              kind: 'convolution',
              pass,
              images,
              channels,
              filters,
              groups,
              positions,
              spatialSize: positions,
              kernelElements,
              winograd: window === 3,
              fourier: window >= 5,
            },
            count: 1,
          },
        ],
      };
    },
    ['images', 'side'],
  );
});

/** Fewer than 64 queries have other kernels, of which none was measured. */
test('attention by one kernel', () => {
  const sizes = fc.record({
    ...where,
    dtype: fc.constantFrom<Dtype>('fp16', 'bf16'),
    pass: fc.constantFrom('forward', 'backward'),
    sequences: upTo(1024),
    queries: upTo(8192, 64),
    keys: upTo(8192),
    size: upTo(256, 8),
    causal: fc.boolean(),
  });
  holds(
    sizes,
    ({ dtype, environment, ...shape }) => {
      const { pass, sequences, queries, keys, size } = shape;
      return {
        ...inside({ dtype, environment }),
        class: 'attention',
        flops: flops((pass === 'forward' ? 4 : 10) * sequences * queries * keys * size),
        bytes: bytes(2 * sequences * size * 2 * (queries + keys)),
        attention: shape,
      };
    },
    ['sequences', 'queries', 'keys', 'size'],
  );
});

test('kernels over rows', () => {
  const sizes = fc.record({
    ...where,
    class: fc.constantFrom('reduction', 'normalization', 'elementwise'),
    rows: upTo(65_536),
    columns: upTo(65_536),
  });
  holds(
    sizes,
    ({ class: kernelClass, rows, columns, ...place }) => ({
      ...inside(place),
      class: kernelClass,
      flops: flops(0),
      operations: 5 * rows * columns,
      bytes: bytes(4 * rows * columns),
      rowLength: columns,
    }),
    ['rows', 'columns'],
  );
});
