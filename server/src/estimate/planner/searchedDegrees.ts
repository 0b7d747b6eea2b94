/** The degrees and the frameworks that a search for layouts tries. */

import { type FrameworkChoice, gpusPerCopy } from '../../model/scenario.ts';
import { expertsOverCopies } from '../../parallel/expertGroups.ts';
import { copies, megatronCopies, shardedUpdate, shardedWeights } from './copyFrameworks.ts';
import { type Degrees, type LayoutSearch, tokensAreSplit } from './layoutCandidate.ts';

/** From few GPUs of a copy to many. Groups of tensor parallelism stay within a node. */
export function degreesOf(search: LayoutSearch): readonly Degrees[] {
  const { gpus, gpusPerNode, blocks, globalBatch, experts, contexts } = search;
  const divisors = Array.from({ length: gpus }, (_, index) => index + 1).filter((part) => gpus % part === 0);
  return divisors
    .filter((tensor) => tensor <= gpusPerNode && gpusPerNode % tensor === 0)
    .flatMap((tensor) =>
      divisors
        .filter((pipeline) => pipeline === 1 || pipeline <= blocks)
        .flatMap((pipeline) => [1, ...contexts].map((context) => ({ tensor, pipeline, context })))
        .filter((degrees) => gpus % gpusPerCopy(degrees) === 0)
        // Copies share the samples of a step evenly.
        .filter((degrees) => globalBatch % (gpus / gpusPerCopy(degrees)) === 0),
    )
    .flatMap((degrees) =>
      divisors
        // Experts are shared by GPUs that add up gradients, and by those of groups of tensor parallelism.
        .filter((expert) => {
          const { tensor, pipeline } = degrees;
          const over = expertsOverCopies({ tensor, sequence: tokensAreSplit(tensor), expert });
          return (gpus / (tensor * pipeline)) % over === 0;
        })
        .filter(
          (expert) => expert === 1 || (experts.length > 0 && experts.every((all) => all % expert === 0)),
        )
        .map((expert) => ({ ...degrees, expert })),
    )
    .sort((one, other) => gpusPerCopy(one) - gpusPerCopy(other));
}

/**
 * Copies exchange whole gradients or shards of the update; stages of a pipeline keep their weights. Language models are tried in
 * Megatron-LM wherever it runs them, so that layouts which only it can use are compared with others of its own.
 */
export function frameworksOf(search: LayoutSearch, degrees: Degrees): readonly FrameworkChoice[] {
  const { framework, gpus } = search;
  if (framework !== undefined) return [framework];
  const { tensor, pipeline, expert } = degrees;
  const isShared = gpusPerCopy(degrees) * expert > 1;
  const runsInMegatron = search.isLanguageModel && gpus > 1 && search.runsInMegatron(degrees);
  if (gpus === tensor * pipeline) return [runsInMegatron ? megatronCopies : copies];
  return [
    ...(isShared && runsInMegatron ? [] : [shardedUpdate]),
    ...(runsInMegatron ? [megatronCopies] : []),
    ...(pipeline === 1 ? [shardedWeights] : []),
    copies,
  ];
}
