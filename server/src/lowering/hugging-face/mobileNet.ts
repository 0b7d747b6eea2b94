/**
 * MobileNet (transformers 5.18): the first version (arXiv 1704.04861; modeling_mobilenet_v1.py) and the second (arXiv 1801.04381;
 * modeling_mobilenet_v2.py). Images are padded as TensorFlow pads them, before each convolution, unless a config says otherwise.
 */

import { roundHalfEven } from '../../model/roundHalfEven.ts';
import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { dropoutLines } from './dropoutLines.ts';
import type { SpecParts } from './specText.ts';

interface Layer {
  readonly channels: number;
  readonly kernel: number;
  readonly stride?: number;
  readonly groups?: number;
  readonly dilation?: number;
  readonly activation?: false;
}

/** Writes one layer after the other, and knows how many pixels a side has by then. */
class Lines {
  readonly list: string[] = [];
  readonly #fields: ConfigFields;
  readonly #act: string;
  readonly #padded: boolean;
  #side: number;

  constructor(fields: ConfigFields, side: number) {
    this.#fields = fields;
    this.#act = activationCall(activationOf(fields, 'relu6'));
    this.#padded = fields.flag('tf_padding', true);
    this.#side = side;
  }

  /** Padding, a convolution, its normalization and an activation; the name of the last line. */
  add(name: string, layer: Layer): string {
    const { channels, kernel, stride = 1, groups = 1, dilation = 1 } = layer;
    const before = this.#side;
    const missing = Math.max(kernel - (before % stride === 0 ? stride : before % stride), 0);
    const [first, last] = [Math.floor(missing / 2), missing - Math.floor(missing / 2)].map(
      (pixels) => pixels * dilation,
    );
    const around = this.#padded ? 0 : Math.floor((kernel - 1) / 2) * dilation;
    const read = before + (this.#padded ? missing * dilation : 2 * around);
    this.#side = Math.floor((read - dilation * (kernel - 1) - 1) / stride) + 1;
    if (this.#side < 1) this.#fields.problems.push('`image_size` is too small for the convolutions');
    const options = [
      String(channels),
      `kernel_size=${kernel}`,
      ...(stride === 1 ? [] : [`stride=${stride}`]),
      ...(around === 0 ? [] : [`padding=${around}`]),
      ...(dilation === 1 ? [] : [`dilation=${dilation}`]),
      ...(groups === 1 ? [] : [`groups=${groups}`]),
      'bias=False',
    ];
    const source = this.list.at(-1)?.split(':')[0] ?? 'image';
    this.list.push(
      // Nothing to pad is copied all the same.
      ...(this.#padded
        ? [
            missing === 0
              ? `${name}_pad: cat((${source}), dim=1)`
              : `${name}_pad: ZeroPad2d((${first}, ${last}, ${first}, ${last}))`,
          ]
        : []),
      `${name}_convolution: Conv2d(${options.join(', ')})`,
      `${name}_normalization: BatchNorm2d(${channels})`,
      ...(layer.activation === false ? [] : [`${name}_activation: ${this.#act}`]),
    );
    return this.list.at(-1)?.split(':')[0] ?? name;
  }

  sum(name: string, left: string, right: string): string {
    this.list.push(`${name}: add(${left}, ${right})`);
    return name;
  }
}

function partsOf(fields: ConfigFields, name: string, write: (lines: Lines) => void): SpecParts {
  const size = fields.size('image_size');
  const lines = new Lines(fields, size);
  write(lines);
  const isClassifier = fields.architecture?.endsWith('ForImageClassification') === true;
  const layers = [
    ...lines.list,
    'pooler: AdaptiveAvgPool2d(1)',
    'pooled: flatten(1)',
    ...(isClassifier
      ? [
          ...dropoutLines('classifier_dropout', fields.number('classifier_dropout_prob', 0)),
          `classifier: Linear(${labelsOf(fields)})`,
        ]
      : []),
  ];
  return {
    name,
    comments: [],
    dims: { batch: 8 },
    inputs: { image: `float32[batch, ${fields.size('num_channels')}, ${size}, ${size}]` },
    blocks: activationBlocks(layers),
    layers,
  };
}

const firstStrides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1];

/** Convolutions by channel, each behind one over channels. */
export function mobileNetV1(fields: ConfigFields, name: string): SpecParts {
  const multiplier = fields.number('depth_multiplier', 1);
  const least = fields.number('min_depth', 8);
  const scaled = (channels: number): number => Math.max(Math.trunc(channels * multiplier), least);
  return partsOf(fields, name, (lines) => {
    let depth = 32;
    let channels = scaled(depth);
    lines.add('conv_stem', { channels, kernel: 3, stride: 2 });
    for (const [index, stride] of firstStrides.entries()) {
      lines.add(`layer_${2 * index}`, { channels, kernel: 3, stride, groups: channels });
      if (stride === 2 || index === 0) depth *= 2;
      channels = scaled(depth);
      lines.add(`layer_${2 * index + 1}`, { channels, kernel: 1 });
    }
  });
}

const secondChannels = [16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320];
const secondStrides = [2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1];

/** Residual blocks that are wide inside and narrow where they are joined. */
export function mobileNetV2(fields: ConfigFields, name: string): SpecParts {
  const multiplier = fields.number('depth_multiplier', 1);
  const scaled = (channels: number): number => divisible(fields, roundHalfEven(channels * multiplier));
  const channels = secondChannels.map(scaled);
  const output = fields.size('output_stride');
  return partsOf(fields, name, (lines) => {
    const start = scaled(32);
    lines.add('first_conv', { channels: start, kernel: 3, stride: 2 });
    if (!fields.flag('first_layer_is_expansion', true))
      lines.add('stem_expand', { channels: start, kernel: 1 });
    lines.add('stem_conv', { channels: start, kernel: 3, groups: start });
    let last = lines.add('stem_reduce', { channels: channels[0] ?? 1, kernel: 1, activation: false });
    let current = 2;
    let spread = 1;
    for (const [index, own] of secondStrides.entries()) {
      const isDilated = current === output;
      const stride = isDilated ? 1 : own;
      const dilation = isDilated ? spread : 1;
      if (isDilated) spread *= own;
      else current *= own;
      const [from, to] = [channels[index] ?? 1, channels[index + 1] ?? 1];
      const wide = divisible(fields, roundHalfEven(from * fields.number('expand_ratio', 6)));
      const source = last;
      lines.add(`layer_${index}_expand`, { channels: wide, kernel: 1 });
      lines.add(`layer_${index}_conv`, { channels: wide, kernel: 3, stride, dilation, groups: wide });
      last = lines.add(`layer_${index}_reduce`, { channels: to, kernel: 1, activation: false });
      if (stride === 1 && from === to) last = lines.sum(`layer_${index}`, source, last);
    }
    const widest = fields.flag('finegrained_output', true) && multiplier < 1 ? 1280 : scaled(1280);
    lines.add('conv_1x1', { channels: widest, kernel: 1 });
  });
}

/** The nearest multiple that is not a tenth smaller (`make_divisible`). */
function divisible(fields: ConfigFields, channels: number): number {
  const by = fields.number('depth_divisible_by', 8);
  const rounded = Math.max(
    fields.number('min_depth', 8),
    Math.floor(Math.trunc(channels + by / 2) / by) * by,
  );
  return rounded < 0.9 * channels ? rounded + by : rounded;
}
