/**
 * A ResNet of timm as the backbone of a detector, whose batch normalizations are fixed: four buffers each, of which every step makes
 * a factor and a summand (transformers 5.18, `DetrFrozenBatchNorm2d` of modeling_detr.py).
 */

interface Depths {
  readonly blocks: readonly [number, number, number, number];
  /** Three convolutions, of which the last has four times as many channels, or two. */
  readonly isBottleneck: boolean;
}

const variants: Readonly<Record<string, Depths>> = {
  resnet18: { blocks: [2, 2, 2, 2], isBottleneck: false },
  resnet34: { blocks: [3, 4, 6, 3], isBottleneck: false },
  resnet50: { blocks: [3, 4, 6, 3], isBottleneck: true },
  resnet101: { blocks: [3, 4, 23, 3], isBottleneck: true },
  resnet152: { blocks: [3, 8, 36, 3], isBottleneck: true },
};

export interface FrozenResnet {
  readonly blocks: Readonly<Record<string, readonly string[]>>;
  /** From `image` to the last map. */
  readonly lines: readonly string[];
  /** Pixels of a side to one place of the last map. */
  readonly stride: number;
}

/** `undefined` where the variant is not known. `isDilated`: the last stage keeps the size of the one before. */
export function frozenResnet(variant: string, isDilated: boolean): FrozenResnet | undefined {
  const of = Object.hasOwn(variants, variant) ? variants[variant] : undefined;
  if (of === undefined) return undefined;
  const blocks: Record<string, readonly string[]> = {};
  const norms = new Set<number>([64]);
  const stack: string[] = [];
  let given = 64;
  for (const [stage, count] of of.blocks.entries()) {
    const inner = 64 * 2 ** stage;
    const channels = of.isBottleneck ? 4 * inner : inner;
    const spread = isDilated && stage === 3 ? 2 : 1;
    const stride = stage === 0 || spread > 1 ? 1 : 2;
    for (const size of [inner, channels]) norms.add(size);
    const shape = { inner, channels, spread, isBottleneck: of.isBottleneck };
    blocks[`stage_${stage + 1}_first`] = blockLines({
      ...shape,
      stride,
      isProjected: stride > 1 || given !== channels,
    });
    blocks[`stage_${stage + 1}_next`] = blockLines({ ...shape, stride: 1, isProjected: false });
    stack.push(
      `layer${stage + 1}_first: stage_${stage + 1}_first()`,
      ...(count > 1 ? [`layer${stage + 1}: stage_${stage + 1}_next() * ${count - 1}`] : []),
    );
    given = channels;
  }
  return {
    blocks: { ...Object.fromEntries([...norms].map((size) => [normName(size), normLines(size)])), ...blocks },
    lines: [
      'conv1: Conv2d(64, kernel_size=7, stride=2, padding=3, bias=False) from image',
      `bn1: ${normName(64)}()`,
      'act1: ReLU()',
      'maxpool: MaxPool2d(3, stride=2, padding=1)',
      ...stack,
    ],
    stride: isDilated ? 16 : 32,
  };
}

const normName = (size: number): string => `frozen_norm_${size}`;

const normLines = (size: number): readonly string[] => [
  ...['weight', 'bias', 'running_mean', 'running_var'].map((name) => `${name}: Buffer(1, ${size}, 1, 1)`),
  'bounded: add(running_var, 1e-05)',
  'inverse: rsqrt()',
  'scale: mul(weight, inverse)',
  'shift: mul(running_mean, scale)',
  'summand: sub(bias, shift)',
  'scaled: mul(input, scale)',
  'output: add(scaled, summand)',
];

function blockLines(of: {
  readonly inner: number;
  readonly channels: number;
  readonly stride: number;
  readonly spread: number;
  readonly isBottleneck: boolean;
  readonly isProjected: boolean;
}): readonly string[] {
  const { inner, channels, stride, spread } = of;
  const wide = (name: string, size: number, step: number): string =>
    `${name}: Conv2d(${size}, kernel_size=3, stride=${step}, padding=${spread}, dilation=${spread}, bias=False)`;
  const main = of.isBottleneck
    ? [
        `conv1: Conv2d(${inner}, kernel_size=1, bias=False)`,
        `bn1: ${normName(inner)}()`,
        'act1: ReLU()',
        wide('conv2', inner, stride),
        `bn2: ${normName(inner)}()`,
        'act2: ReLU()',
        `conv3: Conv2d(${channels}, kernel_size=1, bias=False)`,
        `last: ${normName(channels)}()`,
      ]
    : [
        wide('conv1', inner, stride),
        `bn1: ${normName(inner)}()`,
        'act1: ReLU()',
        wide('conv2', inner, 1),
        `last: ${normName(inner)}()`,
      ];
  return [
    ...main,
    ...(of.isProjected
      ? [
          `downsample: Conv2d(${channels}, kernel_size=1, stride=${stride}, bias=False) from input`,
          `shortcut: ${normName(channels)}()`,
          'sum: add(last, shortcut)',
        ]
      : ['sum: add(last, input)']),
    'output: ReLU()',
  ];
}
