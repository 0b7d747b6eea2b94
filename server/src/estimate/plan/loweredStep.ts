/**
 * The kernels of a step, their times and what they keep: all of a step that does not depend on how many GPUs share it.
 *
 * It is found once for a training graph and asked again for every other number of GPUs, other network or other optimizer.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { foldGroups, type RecomputedGroups, recomputedGroups } from '../../analysis/recomputedGroups.ts';
import { isSettled, unfoldColumn, unfoldList } from '../../analysis/repetition/foldGraph.ts';
import type { FrameworkBehaviour, LoweredGraph } from '../../frameworks/behaviour.ts';
import type { GpuProfile } from '../../hardware/clusterProfile.ts';
import { lazy } from '../../model/lazy.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import { isSameContent } from '../../model/sameContent.ts';
import type { Scenario } from '../../model/scenario.ts';
import { type LiveMemory, liveMemory } from '../memory/liveMemory.ts';
import { type SavedBytes, savedBytes } from '../memory/savedBytes.ts';
import { type OperatorTimes, operatorTimes, unfoldTimes } from './operatorTimes.ts';

export interface LoweredStep {
  readonly lowered: LoweredGraph;
  readonly times: OperatorTimes;
  readonly saved: SavedBytes;
  /** Where blocks repeat and are lowered alike: the graph with most of them left out. */
  readonly folded?: { readonly training: TrainingGraph; readonly lowered: LoweredGraph };
  /** Found when it is first asked for. */
  readonly live: () => LiveMemory;
}

/** `behaviour` is that of the scenario's framework. */
export const lowerStep = memoizeRecent((training: TrainingGraph, asked: LoweringQuestion): LoweredStep => {
  const step = lowerFolded(training, asked);
  const learns = asked.scenario.mode === 'training';
  return {
    ...step,
    live: lazy(() => liveMemory({ training, lowered: step.lowered }, step.folded, learns)),
  };
}, isLoweredAlike);

interface LoweringQuestion {
  readonly behaviour: FrameworkBehaviour;
  readonly scenario: Pick<Scenario, 'framework' | 'precision' | 'mode' | 'checkpoint'>;
  readonly gpu: GpuProfile;
}

function isLoweredAlike(known: LoweringQuestion, asked: LoweringQuestion): boolean {
  return (
    known.gpu === asked.gpu &&
    known.scenario.precision === asked.scenario.precision &&
    known.scenario.mode === asked.scenario.mode &&
    known.scenario.checkpoint === asked.scenario.checkpoint &&
    // Frameworks that lower alike share it.
    (known.behaviour.lower === asked.behaviour.lower ||
      isSameContent(known.scenario.framework, asked.scenario.framework))
  );
}

/** What backward computes again instead of keeping it; nothing in inference. */
export const recomputedSteps = (
  { analysis }: TrainingGraph,
  { mode, checkpoint }: Pick<Scenario, 'mode' | 'checkpoint'>,
): RecomputedGroups | undefined => (mode === 'training' ? recomputedGroups(analysis, checkpoint) : undefined);

type LoweredGraphStep = Pick<LoweredStep, 'lowered' | 'times' | 'saved'>;

interface GraphQuestion extends LoweringQuestion {
  readonly groups: RecomputedGroups | undefined;
}

/** Of a graph as it is. Stages that leave out other blocks of it share the graph of those they keep. */
const lowerGraph = memoizeRecent(
  (graph: TrainingGraph, { behaviour, scenario, gpu, groups }: GraphQuestion): LoweredGraphStep => {
    const lowered = behaviour.lower(graph, scenario.precision, scenario.mode, groups);
    return { lowered, times: operatorTimes(gpu, lowered), saved: savedBytes(lowered) };
  },
  (known, asked) => isLoweredAlike(known, asked) && areSameGroups(known.groups, asked.groups),
);

const areSameGroups = (one: RecomputedGroups | undefined, other: RecomputedGroups | undefined): boolean =>
  one === other ||
  (one !== undefined &&
    other !== undefined &&
    isSameContent(one.keeping, other.keeping) &&
    isSameContent([...one.groupOf], [...other.groupOf]));

/** Where blocks repeat, one block is lowered for all. */
function lowerFolded(
  training: TrainingGraph,
  { behaviour, scenario, gpu }: LoweringQuestion,
): Omit<LoweredStep, 'live'> {
  const lower = (graph: TrainingGraph, groups: RecomputedGroups | undefined): LoweredGraphStep =>
    lowerGraph(graph, { behaviour, scenario, gpu, groups });
  const groups = recomputedSteps(training, scenario);
  const layout = training.analysis.folded?.layout;
  if (training.folded === undefined || layout === undefined) return lower(training, groups);
  const { lowered, times, saved } = lower(training.folded, groups && foldGroups(groups, layout));
  const columns = [
    ...Object.values<Float64Array>({ ...times.forward }),
    ...Object.values<Float64Array>({ ...times.backward }),
    ...Object.values<Float64Array>({ ...times.weight }),
    ...Object.values<Float64Array>({ ...saved }),
  ];
  const areAlike = (index: number, other: number): boolean => {
    const [left, right] = [lowered.operators[index], lowered.operators[other]];
    return (
      left?.dtype === right?.dtype &&
      left?.bytesPerElement === right?.bytesPerElement &&
      left?.view === right?.view &&
      left?.inside === right?.inside &&
      columns.every((column) => column[index] === column[other])
    );
  };
  // What autocast and memory remember from earlier operators settles within a block or two; where it does not,
  // the whole graph is lowered.
  if (!isSettled(layout, areAlike)) return lower(training, groups);
  return {
    lowered: { ...lowered, operators: unfoldList(layout, lowered.operators) },
    times: unfoldTimes(layout, times),
    saved: {
      activations: unfoldColumn(layout, saved.activations),
      weightCopies: unfoldColumn(layout, saved.weightCopies),
      recomputed: unfoldColumn(layout, saved.recomputed),
      recopied: unfoldColumn(layout, saved.recopied),
    },
    folded: { training: training.folded, lowered },
  };
}
