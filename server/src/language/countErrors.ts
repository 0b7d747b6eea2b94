import type { ModelEstimate } from '../estimate/estimateModel.ts';

/** Errors of a model under a scenario: a fix must not add any. */
export const countErrors = ({ issues }: ModelEstimate): number =>
  issues.filter(({ severity }) => severity === 'error').length;
