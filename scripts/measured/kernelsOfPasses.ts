/** Every kernel of forward and backward, one pass of each. */

import type { LoweredGraph } from '../../server/src/frameworks/behaviour.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';

export const kernelsOfPasses = ({ operators }: LoweredGraph): readonly KernelWork[] =>
  operators.flatMap((operator) =>
    operator === undefined ? [] : [...operator.forward, ...operator.backwardData, ...operator.backwardWeight],
  );
