/** What an estimate advises, done in the text, with what it saves: found by costing the edited text. */

import type { ModelEstimate } from '../../../estimate/estimateModel.ts';
import { narrowGradients } from '../../../estimate/findings/exposedCommunication.ts';
import { selectModel } from '../../../formats/layer-spec/selectModel.ts';
import { hasOption } from '../../../frameworks/registry.ts';
import { formatBytes } from '../../../model/format.ts';
import type { FindingChange } from '../../../model/stepCost.ts';
import { bytes } from '../../../model/units.ts';
import { gainOf, throughputGainOf } from '../../fix.ts';
import { applyEdits, type TextEdit } from '../../textEdit.ts';
import { frameworkEdit } from './frameworkEdit.ts';
import { scenarioEdit } from './scenarioEdit.ts';
import type { Change, Wrong } from './wrong.ts';

export function findingFixes(wrong: Wrong): readonly Change[] {
  const { diagnostic } = wrong;
  if (!diagnostic.code.startsWith('findings/')) return [];
  const advised = diagnostic.change === undefined ? [] : changesFor(wrong, diagnostic.change);
  switch (diagnostic.code) {
    case 'findings/out-of-memory':
      return [...advised, ...checkpointed(wrong)];
    case 'findings/late-gradient':
    case 'findings/exposed-communication':
      return [...advised, ...gradientOptions(wrong)];
    case 'findings/launch-bound':
      return [...advised, ...compiled(wrong)];
    default:
      return advised;
  }
}

function changesFor(wrong: Wrong, change: FindingChange): readonly Change[] {
  const { document } = wrong;
  switch (change.kind) {
    case 'batch':
      return batchChange(wrong, change.batch);
    case 'precision': {
      const edits = [scenarioEdit(document, 'precision', change.precision, wrong.diagnostic.model)];
      return costed(
        wrong,
        edits,
        `Use ${change.precision}`,
        ({ scenario }) => scenario?.precision === change.precision,
      );
    }
    case 'freeze': {
      const edits = [
        scenarioEdit(document, 'freeze', `'${change.patterns.join(', ')}'`, wrong.diagnostic.model),
      ];
      return costed(
        wrong,
        edits,
        'Train the adapters alone',
        ({ scenario }) => scenario?.freeze !== undefined,
      );
    }
    case 'framework-option':
      return optionChange(wrong, change.name, change.value);
  }
}

/** The batch is set where the text sets it: in its scenario, as a dim, or in a scenario that is new. */
function batchChange(wrong: Wrong, batch: number): readonly Change[] {
  const { document, diagnostic } = wrong;
  const { model } = diagnostic;
  const { inputs, dims } = selectModel(document.spec, model) ?? document.spec;
  const [size] = inputs[0]?.dimensions ?? [];
  const dim = size?.kind === 'name' ? dims.find(({ name }) => name.text === size.name) : undefined;
  const inDims = dim?.value?.kind === 'number' ? dim.value.span : undefined;
  const ways = [
    ...(inDims === undefined ? [] : [[{ span: inDims, text: String(batch) }]]),
    [scenarioEdit(document, 'batch', String(batch), model)],
  ];
  for (const edits of ways) {
    const isDone = ({ scenario, cost }: ModelEstimate): boolean =>
      scenario?.batchPerGpu === batch &&
      cost?.findings.every(({ code }) => code !== diagnostic.code) === true;
    const changes = costed(wrong, edits, `Use a batch of ${batch}`, isDone);
    if (changes.length > 0) return changes;
  }
  return [];
}

/** Buckets of another size, and gradients in half precision, where that makes the step shorter. */
function gradientOptions(wrong: Wrong): readonly Change[] {
  const { scenario, cluster } = wrong.view.estimate;
  if (scenario?.framework.name !== 'pytorch-ddp' || cluster === undefined) return [];
  const narrow = optionChange(wrong, 'gradient-dtype', narrowGradients({ scenario, cluster }));
  const buckets = bucketSizes
    .flatMap((size) => {
      const edits = optionEdits(wrong, 'bucket-mb', String(size));
      const step = recosted(wrong, edits).cost?.totals.time.step ?? null;
      return step === null ? [] : [{ size, step }];
    })
    .sort((left, right) => left.step - right.step);
  const [best] = buckets;
  const before = wrong.view.estimate.cost?.totals.time.step ?? null;
  const worthwhile = best !== undefined && before !== null && best.step < before * worthwhileStep;
  return [...narrow, ...(worthwhile ? optionChange(wrong, 'bucket-mb', String(best.size)) : [])];
}

/** CUDA graphs launch all kernels at once, where the framework can compile. */
function compiled(wrong: Wrong): readonly Change[] {
  const { name, options } = wrong.view.estimate.scenario?.framework ?? { name: '', options: {} };
  const isAdvised = wrong.diagnostic.change?.kind === 'framework-option';
  if (isAdvised || options.compile === 'max-autotune') return [];
  if (!hasOption(name, 'compile')) return [];
  return optionChange(wrong, 'compile', 'reduce-overhead');
}

/** Of the step now: a smaller gain is not worth a line. */
const worthwhileStep = 0.99;

const bucketSizes = [5, 10, 50, 100, 200];

function optionChange(wrong: Wrong, name: string, value: string): readonly Change[] {
  const isSet = ({ scenario }: ModelEstimate): boolean => scenario?.framework.options[name] === value;
  const changes = costed(wrong, optionEdits(wrong, name, value), optionTitle(name, value), isSet);
  return wrong.view.estimate.scenario?.framework.options[name] === value ? [] : changes;
}

function optionTitle(name: string, value: string): string {
  switch (name) {
    case 'bucket-mb':
      return `Use buckets of ${value} MiB`;
    case 'fusion-mb':
      return `Use a fusion buffer of ${value} MiB`;
    case 'gradient-dtype':
      return `Send gradients as ${value}`;
    case 'compile':
      return `Compile the model (${value})`;
    default:
      return `Use ${name}=${value}`;
  }
}

function optionEdits(
  { document, view, diagnostic }: Wrong,
  name: string,
  value: string,
): readonly TextEdit[] {
  const framework = view.estimate.scenario?.framework ?? { name: 'pytorch-ddp', options: {} };
  return [frameworkEdit(document, framework, name, value, diagnostic.model)];
}

/** Blocks that keep less, where the step fits then. */
function checkpointed(wrong: Wrong): readonly Change[] {
  const { view, document, diagnostic } = wrong;
  return (['selective', 'block'] as const).flatMap((checkpoint) => {
    const edits = [scenarioEdit(document, 'checkpoint', checkpoint, diagnostic.model)];
    const fits = ({ scenario, cost }: ModelEstimate): boolean =>
      scenario?.checkpoint === checkpoint &&
      cost?.findings.every(({ code }) => code !== diagnostic.code) === true;
    const what = checkpoint === 'block' ? 'Checkpoint blocks' : 'Checkpoint blocks selectively';
    return (view.estimate.scenario?.checkpoint ?? 'none') === 'none' ? costed(wrong, edits, what, fits) : [];
  });
}

/** The change, if the edited text is as it should be and has no new errors. */
function costed(
  wrong: Wrong,
  edits: readonly TextEdit[],
  what: string,
  isDone: (estimate: ModelEstimate) => boolean,
): readonly Change[] {
  const before = wrong.view.estimate;
  const after = recosted(wrong, edits);
  if (!isDone(after) || countErrors(after) > countErrors(before)) return [];
  const gain = worth(wrong, after);
  return isLoss(gain) ? [] : [{ title: titled(what, gain), edits }];
}

/** Advice that makes things worse here, or no better, is none. */
const isLoss = (gain: string): boolean => / slower,| fewer samples|^as fast as now$/.test(gain);

const memoryFindings: ReadonlySet<string> = new Set([
  'findings/out-of-memory',
  'findings/little-memory-left',
  'findings/buffers-out-of-memory',
]);

/** What the change is worth, in the terms of what it is against. */
function worth({ diagnostic, view }: Wrong, after: ModelEstimate): string {
  const before = view.estimate.cost;
  if (memoryFindings.has(diagnostic.code)) {
    const { peak, capacity } = after.cost?.totals.memory ?? { peak: bytes(0), capacity: null };
    return capacity === null ? '' : `${formatBytes(peak)} of ${formatBytes(capacity)}`;
  }
  return before?.scenario.batchPerGpu === after.cost?.scenario.batchPerGpu
    ? gainOf(before, after.cost)
    : throughputGainOf(before, after.cost);
}

const titled = (what: string, gain: string): string => (gain === '' ? what : `${what}: ${gain}`);

const recosted = ({ document, recost }: Wrong, edits: readonly TextEdit[]): ModelEstimate =>
  recost(applyEdits(document.source, edits));

const countErrors = ({ issues }: ModelEstimate): number =>
  issues.filter(({ severity }) => severity === 'error').length;
