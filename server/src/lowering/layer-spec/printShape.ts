/** The type of a tensor as a spec writes it. */

import { printDimension } from '../../model/dimension.ts';
import type { Tensor } from './layerDefinition.ts';

/** `float32[batch, 768]` */
export function printShape(tensor: Tensor | undefined): string {
  const shape = tensor?.shape?.map(printDimension).join(', ') ?? '?';
  return `${tensor?.elementType ?? 'tensor'}[${shape}]`;
}
