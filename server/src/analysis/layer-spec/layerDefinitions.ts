/** Every layer a spec can call, by name. */

import type { LayerDefinition } from './layerDefinition.ts';
import { activationLayers } from './layers/activation.ts';
import { attentionLayers } from './layers/attention.ts';
import { convolutionLayers } from './layers/convolution.ts';
import { linearLayers } from './layers/linear.ts';
import { normalizationLayers } from './layers/normalization.ts';
import { tensorLayers } from './layers/tensor.ts';

/** In the order in which a reference lists them. */
export const layerDefinitions: readonly LayerDefinition[] = [
  ...linearLayers,
  ...convolutionLayers,
  ...normalizationLayers,
  ...activationLayers,
  ...attentionLayers,
  ...tensorLayers,
];

const definitionsByName = new Map(layerDefinitions.map((definition) => [definition.name, definition]));

export const findLayer = (name: string): LayerDefinition | undefined => definitionsByName.get(name);
