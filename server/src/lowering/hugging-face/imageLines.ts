/** Lines between the tower of a model that reads images and its language model. */

import { activationCall, knownActivation } from './activations.ts';
import type { ConfigFields } from './configFields.ts';

/** Images of all sequences. */
export const allImages = 'batch*images';

/** Tokens of images as a part of each sequence. */
export const imageEmbeds = 'image_embeds: reshape(batch, images*image_tokens, hidden_size)';

/** Two layers, as LLaVA's (`LlavaMultiModalProjector`). */
export function projectorLines(
  fields: ConfigFields,
  hasBias = fields.flag('multimodal_projector_bias', true),
): readonly string[] {
  const bias = hasBias ? '' : ', bias=False';
  return [
    `linear_1: Linear(hidden_size${bias})`,
    `projector_act: ${activationCall(knownActivation(fields, fields.text('projector_hidden_act', 'gelu')))}`,
    `linear_2: Linear(hidden_size${bias})`,
  ];
}

/** Squares of `scale` by `scale` tokens as one, each axis by itself (`pixel_shuffle`). */
export const shuffleLines = (source: string, side: number, scale: number): readonly string[] => {
  const small = Math.floor(side / scale);
  return [
    `wide: reshape(${source}, ${allImages}, ${side}, ${small}, vision_size*${scale})`,
    'turned: permute(0, 2, 1, 3)',
    `square: reshape(${allImages}, ${small}, ${small}, vision_size*${scale * scale})`,
    'upright: permute(0, 2, 1, 3)',
    `shuffled: reshape(${allImages}, ${small * small}, vision_size*${scale * scale})`,
  ];
};
