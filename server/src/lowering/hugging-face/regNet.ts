/** RegNet (arXiv 2003.13678; modeling_regnet.py of transformers 5.18): convolutions by groups of channels, weighed in the second kind. */

import { roundHalfEven } from '../../model/roundHalfEven.ts';
import { activationBlocks, activationCall, activationOf } from './activations.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { stagesOf } from './convolutional.ts';
import type { SpecParts } from './specText.ts';

export function regNet(fields: ConfigFields, name: string): SpecParts {
  const act = activationCall(activationOf(fields, 'relu'));
  const embedding = fields.size('embedding_size');
  const blocks: Record<string, readonly string[]> = {};
  const stack: string[] = [];
  let before = embedding;
  for (const [index, { channels, depth }] of stagesOf(fields).entries()) {
    const stage = index + 1;
    const stride = index > 0 || fields.flag('downsample_in_first_stage', true) ? 2 : 1;
    blocks[`stage_${stage}_start`] = blockLines(fields, { before, channels, stride, act });
    stack.push(`stage_${stage}_first: stage_${stage}_start()`);
    if (depth > 1) {
      blocks[`stage_${stage}_block`] = blockLines(fields, { before: channels, channels, stride: 1, act });
      stack.push(`stage_${stage}: stage_${stage}_block() * ${depth - 1}`);
    }
    before = channels;
  }
  const layers = [
    `embedder: Conv2d(${embedding}, kernel_size=3, stride=2, padding=1, bias=False)`,
    `embedder_norm: BatchNorm2d(${embedding})`,
    `embedder_act: ${act}`,
    ...stack,
    'pooler: AdaptiveAvgPool2d(1)',
    ...(fields.architecture?.endsWith('ForImageClassification') === true
      ? ['flat: flatten(1)', `classifier: Linear(${labelsOf(fields)})`]
      : []),
  ];
  return {
    name,
    comments: [],
    dims: { batch: 8 },
    // It takes images of any size; 224 is that of ImageNet.
    inputs: { image: `float32[batch, ${fields.size('num_channels')}, 224, 224]` },
    blocks: { ...activationBlocks([...Object.values(blocks).flat(), ...layers]), ...blocks },
    layers,
  };
}

function blockLines(
  fields: ConfigFields,
  of: { readonly before: number; readonly channels: number; readonly stride: number; readonly act: string },
): readonly string[] {
  const { before, channels, stride, act } = of;
  const groups = Math.max(1, Math.floor(channels / fields.size('groups_width')));
  const step = stride === 1 ? '' : `, stride=${stride}`;
  const hasShortcut = before !== channels || stride !== 1;
  const isWeighed = fields.text('layer_type', 'y') !== 'x';
  return [
    `conv1: Conv2d(${channels}, kernel_size=1, bias=False)`,
    `norm1: BatchNorm2d(${channels})`,
    `act1: ${act}`,
    `conv2: Conv2d(${channels}, kernel_size=3${step}, padding=1, groups=${groups}, bias=False)`,
    `norm2: BatchNorm2d(${channels})`,
    `act2: ${act}`,
    ...(isWeighed
      ? [
          'squeezed: AdaptiveAvgPool2d(1)',
          `reduced: Conv2d(${roundHalfEven(before / 4)}, kernel_size=1)`,
          'reduced_act: ReLU()',
          `widened: Conv2d(${channels}, kernel_size=1)`,
          'shares: Sigmoid()',
          'weighed: mul(act2, shares)',
        ]
      : []),
    `conv3: Conv2d(${channels}, kernel_size=1, bias=False)`,
    `norm3: BatchNorm2d(${channels})`,
    ...(hasShortcut
      ? [
          `shortcut: Conv2d(${channels}, kernel_size=1${step}, bias=False) from input`,
          `shortcut_norm: BatchNorm2d(${channels})`,
        ]
      : []),
    `sum: add(norm3, ${hasShortcut ? 'shortcut_norm' : 'input'})`,
    `output: ${act}`,
  ];
}
