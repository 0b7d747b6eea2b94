/**
 * The training graph as the kernels that eager PyTorch launches: each operator its own, with the casts that
 * autocast adds, and a bias that was exported as an addition folded back into its matmul.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { RecomputedGroups } from '../../analysis/recomputedGroups.ts';
import { producerOf } from '../../composites/flow.ts';
import type { KernelEnvironment, Layout } from '../../hardware/kernelEnvironment.ts';
import { isNarrow } from '../../model/dtype.ts';
import type { Operator } from '../../model/graph.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import { isSameContent } from '../../model/sameContent.ts';
import type { Mode, Precision } from '../../model/scenario.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import type { AssumedKernel, KeptTensor, LoweredGraph, LoweredOperator } from '../behaviour.ts';
import { assignTypes, type OperatorType, type TypeOptions } from './autocast.ts';
import { channelsLastValues } from './channelsLastValues.ts';
import type { EagerStep, TypedOperator } from './eagerStep.ts';
import { hasFoldedTriangle } from './foldedTriangle.ts';
import { fuseByHand } from './fusedByHand.ts';
import { type FusedGroup, fusedGroups } from './fusedGroups.ts';
import { addGradientSums } from './gradientSums.ts';
import { type InputCasts, inputCasts } from './inputCasts.ts';
import { keptValue, storedValue } from './keptTensors.ts';
import { numbersOfMask } from './kernelsOfMask.ts';
import { absorbed, type GivenImages, lowerGroup } from './lowerGroup.ts';
import { operatorLowering } from './lowerOperator.ts';
import { withoutMadeMasks } from './madeMasks.ts';
import { operatorKernels } from './operatorKernels.ts';
import { recompute } from './recompute.ts';
import { type ScoreParts, scoresInParts } from './scoresInParts.ts';
import { isView, type ViewStorage, viewStorage } from './viewStorage.ts';

export function lowerEager(
  training: TrainingGraph,
  precision: Precision,
  mode: Mode,
  options: EagerOptions,
  recomputed?: RecomputedGroups,
): LoweredGraph {
  const { operators, stored } = summedOperators(training, { precision, mode, options });
  if (mode === 'inference' || recomputed === undefined) return { operators };
  return { operators: recompute(training, operators, recomputed, stored, options.reentrant ?? false) };
}

type EagerOptions = TypeOptions & { readonly reentrant?: boolean; readonly scoreParts?: ScoreParts };

/** Before anything is computed again, found once for all that may be: what is kept changes no kernel. */
const summedOperators = memoizeRecent(
  (training: TrainingGraph, { precision, mode, options }: EagerQuestion): SummedOperators => {
    const { operators, groups, environmentOf, stored } = eagerOperators(training, precision, mode, options);
    const parts = options.scoreParts ?? 'whole';
    if (mode === 'inference') return { operators: scoresInParts(training, operators, parts), stored };
    const added = addGradientSums(training, operators, groups, environmentOf);
    const fused = options.fusedByHand === true ? fuseByHand(training, added) : added;
    return { operators: scoresInParts(training, fused, parts), stored };
  },
  isSameContent,
  2,
);

interface EagerQuestion {
  readonly precision: Precision;
  readonly mode: Mode;
  readonly options: EagerOptions;
}

type SummedOperators = Pick<EagerOperators, 'operators' | 'stored'>;

/** Operators before gradients are added and anything is computed again, and what compiling starts from. */
export interface EagerOperators extends Pick<ViewStorage, 'storage'> {
  readonly operators: readonly (LoweredOperator | undefined)[];
  readonly groups: ReadonlyMap<number, FusedGroup>;
  /** What the kernels of an operator have in common with the step. */
  readonly environmentOf: (index: number) => KernelEnvironment;
  /** The memory of a value as it lies there, without a cast. */
  readonly stored: (name: string) => readonly KeptTensor[];
}

export function eagerOperators(
  given: TrainingGraph,
  precision: Precision,
  mode: Mode,
  options: TypeOptions,
): EagerOperators {
  const training = options.fusedAttention === true ? withoutMadeMasks(given) : given;
  const groups = options.fusedCalls
    ? fusedGroups(training, options.fusedAttention, options.fusedByHand)
    : new Map<number, FusedGroup>();
  const types = assignTypes(training, precision, options, groups);
  const last = channelsLastValues(training, options.channelsLast);
  const views = viewStorage(training, {
    isCast: (operator) => {
      const [source = ''] = operator.inputs;
      const [result = ''] = operator.outputs;
      return (
        hasTrait(operator, 'casts') &&
        operator.isPromotion !== true &&
        (types.elementBytes.get(source) ?? 4) !== (types.elementBytes.get(result) ?? 4)
      );
    },
    attention: ({ index, type, inputs }) => {
      const group = groups.get(index);
      if (group?.kind === 'attention' && group.composite !== undefined) {
        const { query = '', value = '', mask } = group.composite.roles;
        return { query, value, mask: hasFoldedTriangle(training, group) ? undefined : mask };
      }
      if (type !== 'Attention') return undefined;
      const [query = '', , value = '', mask] = inputs;
      const cost = training.costs[index];
      const isGiven = cost?.kind !== 'known' || cost.forward.attention?.mask !== undefined;
      return { query, value, mask: isGiven ? mask : undefined };
    },
    inOrder: ({ index }) => groups.get(index)?.kind === 'normalization',
    liesLast: (name) => last.has(name),
  });
  const { inPlace = false, remembersCasts = false, lossInPlace } = options;
  const formats = blockFormats(training);
  const step: EagerStep = { training, types, mode, inPlace, remembersCasts, lossInPlace, formats, ...views };
  const environmentOf = environments(options.channelsLast, last, mode, precision, options);
  const castsOf = inputCasts(step);
  const lowerOperator = operatorLowering(step, groups, options.narrowScaling ?? 'eager', castsOf);
  const kernelsOf = operatorKernels(training, mode);
  const operators = training.analysis.graph.operators.map((operator, index): LoweredOperator | undefined => {
    const cost = training.costs[index];
    const type = types.operators[index];
    if (cost === undefined || cost.kind === 'unknown' || type === undefined) return undefined;
    const environment = environmentOf(operator, type);
    const typed = { operator, cost, type, environment };
    const group = groups.get(index);
    if (group === undefined) return lowerOperator(typed);
    if (index !== group.operators.at(-1)) return { ...absorbed(type), inside: true };
    const lowered = withCasts(
      lowerGroup(
        training,
        group,
        type,
        (name) => keptValue(step, typed, name),
        mode,
        environment,
        givenImages(training, group, options.channelsLast, last),
      ),
      castsOf({ inputs: group.inputs, outputs: group.outputs, class: group.kind, type, environment }),
    );
    const { composite } = group;
    // Exporters add a mask of booleans to the scores as it is, where the call made numbers of it.
    const ofMask =
      group.kind === 'attention'
        ? numbersOfMask(training, composite?.roles.mask ?? '', type.bytesPerElement, environment)
        : [];
    const launched = ofMask.length === 0 ? lowered : { ...lowered, forward: [...ofMask, ...lowered.forward] };
    if (composite?.launchedAs !== 'assumed-one') return launched;
    return {
      ...launched,
      assumed: { name: composite.name, ...writtenOut(training, group, typed, kernelsOf) },
    };
  });
  return {
    operators,
    groups,
    environmentOf: (index) => environmentOf(training.analysis.graph.operators[index], types.operators[index]),
    storage: views.storage,
    stored: (name) => storedValue(step, name),
  };
}

const blockFormats = ({ analysis: { frozen } }: TrainingGraph): EagerStep['formats'] =>
  new Map(frozen.flatMap(({ name, format }) => (format === undefined ? [] : [[name, format] as const])));

/** What autocast casts for a call before it, and gradients on the way back. */
const withCasts = (lowered: LoweredOperator, { forward, backwardData }: InputCasts): LoweredOperator =>
  forward.length + backwardData.length === 0
    ? lowered
    : {
        ...lowered,
        forward: [...forward, ...lowered.forward],
        ...(lowered.backwardData.length === 0
          ? {}
          : { backwardData: [...backwardData, ...lowered.backwardData] }),
      };

/** An image is reshaped before a group normalization that stands as several operators. */
function givenImages(
  { analysis: { graph } }: TrainingGraph,
  { inputs: [input = ''] }: FusedGroup,
  isWholeLast: boolean,
  last: ReadonlySet<string>,
): GivenImages {
  if (isWholeLast) return 'between-others';
  const reshape = producerOf(graph, input);
  const image = reshape?.type === 'Reshape' ? reshape.inputs[0] : undefined;
  return last.has(input) || last.has(image ?? '') ? 'across' : 'in-order';
}

/** The kernels of a group's operators where each is launched by itself. */
function writtenOut(
  { analysis: { graph }, costs }: TrainingGraph,
  group: FusedGroup,
  { type, environment }: Pick<TypedOperator, 'type' | 'environment'>,
  kernelsOf: ReturnType<typeof operatorKernels>,
): Pick<AssumedKernel, 'forward' | 'backward'> {
  const members = group.operators.flatMap((index) => {
    const [operator, cost] = [graph.operators[index], costs[index]];
    if (operator === undefined || cost?.kind !== 'known' || isView(cost, operator)) return [];
    return kernelsOf({ operator, cost, type, environment });
  });
  return {
    forward: members.flatMap(({ forward }) => forward),
    backward: members.flatMap(({ backwardData, backwardWeight }) => [...backwardData, ...backwardWeight]),
  };
}

/** Those that operators of one step can have, by how their images lie and whether they run under autocast. */
function environments(
  channelsLast: boolean,
  last: ReadonlySet<string>,
  mode: Mode,
  precision: Precision,
  { attentionKernel = 'newest', sharesRows, olderMatmuls, padsMatmuls }: TypeOptions,
): (operator: Operator | undefined, type: OperatorType | undefined) => KernelEnvironment {
  const common = {
    attention: attentionKernel,
    ...(sharesRows ? { sharesRows: true as const } : {}),
    ...(olderMatmuls ? { olderMatmuls: true as const } : {}),
    ...(padsMatmuls ? { padsMatmuls: true as const } : {}),
    ...(mode === 'inference' ? { inference: true as const } : {}),
    ...(precision === 'bf16' || isNarrow(precision) ? { bf16: true as const } : {}),
  };
  const pairOf = (
    layout: Layout,
  ): { readonly full: KernelEnvironment; readonly half: KernelEnvironment } => ({
    full: { ...common, layout, mixed: false },
    half: { ...common, layout, mixed: true },
  });
  const pairs = { first: pairOf('channels-first'), last: pairOf('channels-last') };
  return (operator, type) => {
    const liesLast = channelsLast || operator?.inputs.some((name) => last.has(name)) === true;
    const { full, half } = liesLast ? pairs.last : pairs.first;
    return type?.mixed === true ? half : full;
  };
}
