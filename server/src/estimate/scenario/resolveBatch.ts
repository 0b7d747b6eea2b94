/** Samples of a pass and passes of a step, from what is asked for and what the model fixes. */

import type { ModelAnalysis } from '../../analysis/modelAnalysis.ts';
import { counted } from '../../model/counted.ts';
import { formatCount } from '../../model/format.ts';
import type { ScenarioRequest } from '../../model/scenario.ts';
import { first, type Report } from './scenarioReport.ts';

/** Passes follow from the micro-batch where that is asked for, else they are what was asked for. */
export function microBatches(
  microBatch: number | undefined,
  copies: number,
  requests: readonly ScenarioRequest[],
  report: Report,
): number {
  const globalBatch = askedGlobalBatch(requests);
  if (microBatch === undefined) return resolveAccumulation(first(requests, 'accumulate'), report);
  if (globalBatch !== undefined) return Math.max(1, Math.ceil(globalBatch / (copies * microBatch)));
  report(
    'warning',
    'scenario/invalid',
    '`micro-batch` has no effect without a global batch; set `global-batch`, or `batch` and `accumulate`',
    'parallel',
  );
  return resolveAccumulation(first(requests, 'accumulate'), report);
}

/** A file that fixes its batch takes a global batch in passes of it. */
export function onlyMicroBatch(
  requests: readonly ScenarioRequest[],
  { batchSymbol, fixedBatch }: ModelAnalysis,
): number | undefined {
  const isAsked = askedGlobalBatch(requests) !== undefined && first(requests, 'accumulate') === undefined;
  return isAsked && batchSymbol === undefined ? fixedBatch : undefined;
}

function resolveAccumulation(asked: number | undefined, report: Report): number {
  if (asked === undefined) return 1;
  if (Number.isInteger(asked) && asked > 0) return asked;
  report(
    'error',
    'scenario/invalid',
    `\`accumulate\` is ${asked}; it takes a whole number from 1`,
    'accumulate',
  );
  return 1;
}

/** The request that asks for a batch at all says which. */
export const askedGlobalBatch = (requests: readonly ScenarioRequest[]): number | undefined =>
  requests.find(({ batch, globalBatch }) => batch !== undefined || globalBatch !== undefined)?.globalBatch;

/** Of the busiest GPU: the remainder of a batch over the passes of all GPUs goes to some. */
export function askedBatch(requests: readonly ScenarioRequest[], passes: number): number | undefined {
  const globalBatch = askedGlobalBatch(requests);
  return globalBatch === undefined ? first(requests, 'batch') : Math.ceil(globalBatch / passes);
}

export function resolveBatch(
  asked: number | undefined,
  given: ReadonlyMap<string, number>,
  analysis: ModelAnalysis,
  report: Report,
): number {
  const { batchSymbol, fixedBatch } = analysis;
  if (asked !== undefined && !(Number.isInteger(asked) && asked > 0)) {
    report('error', 'scenario/invalid', `\`batch\` is ${asked}; it takes a whole number from 1`, 'batch');
    return fixedBatch ?? 1;
  }
  if (batchSymbol === undefined) {
    const batch = fixedBatch ?? 1;
    if (asked !== undefined && asked !== batch) {
      report(
        'warning',
        'scenario/fixed-batch',
        `The model fixes its batch at ${batch}, so ${counted(asked, 'sample')} per GPU cannot be applied. Export it with a dynamic batch`,
        'batch',
      );
    }
    return batch;
  }
  const known =
    asked ??
    given.get(batchSymbol) ??
    analysis.symbols.find(({ name }) => name === batchSymbol)?.default ??
    fixedBatch;
  if (known !== undefined) return known;
  report(
    'information',
    'scenario/default-batch',
    `The batch (\`${batchSymbol}\`) has no value; costs assume one sample per GPU`,
    'batch',
    [batchSymbol],
  );
  return 1;
}

/** A batch that is asked for twice at one place, as itself and as a dimension. */
export function reportTwoBatches(
  requests: readonly ScenarioRequest[],
  { batchSymbol }: ModelAnalysis,
  report: Report,
): void {
  if (batchSymbol === undefined) return;
  for (const { batch, globalBatch, dimensions } of requests) {
    const dimension = dimensions?.[batchSymbol];
    const isOther = globalBatch !== undefined || (batch !== undefined && batch !== dimension);
    if (dimension === undefined || !isOther) continue;
    const [name, value] = globalBatch === undefined ? ['batch', batch] : ['global batch', globalBatch];
    report(
      'warning',
      'scenario/invalid',
      `Dimension \`${batchSymbol}\` is ${dimension} and the ${name} is ${value}; costs take the ${name}. Set one of them`,
      'dimensions',
    );
  }
}

/** A batch over all passes of all GPUs that is smaller than they are many. */
export function reportIdlePasses(
  globalBatch: number | undefined,
  { gpus, copies, passes }: { readonly gpus: number; readonly copies: number; readonly passes: number },
  report: Report,
): void {
  if (globalBatch === undefined || globalBatch >= passes) return;
  const sharers =
    copies === gpus
      ? counted(gpus, 'GPU')
      : `${formatCount(copies)} ${copies === 1 ? 'copy' : 'copies'} of the model`;
  const isOnePass = passes === copies;
  const among = isOnePass ? sharers : `${formatCount(passes / copies)} passes of ${sharers}`;
  const fewer = isOnePass ? 'GPUs' : 'passes or GPUs';
  const message = `A batch of ${globalBatch} over ${among} leaves ${passes - globalBatch} of them without a sample; use fewer ${fewer} or a larger batch`;
  report('warning', 'scenario/invalid', message, 'globalBatch');
}
