/**
 * An optimizer for each parameter, which a hook steps when the gradient is complete, and then frees the gradient.
 *
 * Sources: PyTorch, "How to save memory by fusing an optimizer step into the backward pass" (tutorial,
 * `register_post_accumulate_grad_hook`); pytorch/torchtune, torchtune/training/memory.py, `register_optim_in_bwd_hooks`.
 */

import { bytes } from '../../model/units.ts';
import type { Update, UpdateSizes } from '../behaviour.ts';
import type { UpdatedTensor } from '../optimizers/optimizerDefinition.ts';
import { repeated } from './ownUpdate.ts';

/** `updateOf`: of tensors that one optimizer updates. Tensors of one shape are updated by like kernels. */
export function updateInBackward({ tensors }: UpdateSizes, updateOf: (sizes: UpdateSizes) => Update): Update {
  const alike = new Map<string, { readonly tensor: UpdatedTensor; count: number }>();
  for (const tensor of tensors) {
    const key = `${tensor.elements} ${tensor.shape.join('×')} ${tensor.isHidden}`;
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { tensor, count: 1 });
    else known.count += 1;
  }
  const updates = [...alike.values()].map(({ tensor, count }) => ({
    update: updateOf({ elements: tensor.elements, tensors: [tensor] }),
    count,
  }));
  const { stateBytesOf } = updateOf({ elements: 0, tensors: [] });
  return {
    kernels: updates.flatMap(({ update, count }) => update.kernels.map((kernel) => repeated(kernel, count))),
    hostWork: updates.reduce(
      (total, { update: { hostWork = 0 }, count }) => total + count * (hostWork + launchesOfStep),
      0,
    ),
    hostWaits: updates.some(({ update }) => update.hostWaits === true),
    stateBytes: bytes(updates.reduce((total, { update, count }) => total + count * update.stateBytes, 0)),
    stateBytesOf,
    temporaryBytes: bytes(Math.max(0, ...updates.map(({ update }) => update.temporaryBytes))),
  };
}

/** The hook and the call of `step`, beside what it does for a parameter: assumed to be as long as a launch. */
const launchesOfStep = 1;
