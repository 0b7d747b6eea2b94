/** Log-sigmoid, which exporters write as it reads. */

import type { CompositePattern } from './composite.ts';
import { soleReader } from './flow.ts';

/** Log(sigmoid(x)): PyTorch `aten::log_sigmoid`. */
export const logSigmoid: CompositePattern = {
  kind: 'log-sigmoid',
  name: 'LogSigmoid',
  anchors: ['Sigmoid'],
  modules: ['LogSigmoid'],
  match: (graph, sigmoid) => {
    const logarithm = soleReader(graph, sigmoid.outputs[0]);
    if (logarithm?.type !== 'Log') return undefined;
    return {
      operators: [sigmoid.index, logarithm.index],
      roles: { input: sigmoid.inputs[0] ?? '' },
      launchedAs: 'assumed-one',
    };
  },
};
