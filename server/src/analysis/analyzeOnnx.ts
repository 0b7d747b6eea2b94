/** From the syntax tree of an ONNX model to its graph, layers and parameters. */

import { findComposites } from '../composites/findComposites.ts';
import { compositePatterns } from '../composites/patterns.ts';
import type { OnnxGraph, OnnxModel, OnnxNode } from '../formats/onnx/syntax.ts';
import {
  type GivenLayers,
  givenLayers,
  type ProvidedStructure,
  type StatedRepetition,
} from '../lowering/providedStructure.ts';
import { isSymbolic, symbolsOf } from '../model/dimension.ts';
import { type Graph, isKnownShape, type Operator, type ValueRole, type ValueType } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import { finish, type Steps } from '../model/steps.ts';
import { type AuxiliaryOperators, findAuxiliaryOperators } from './auxiliaryOperators.ts';
import { dropDeadNodes } from './dropDeadNodes.ts';
import { writeOutBags } from './embeddingBags.ts';
import { expandFunctions, type FlatNode } from './expandFunctions.ts';
import { findRoles, type Roles } from './findRoles.ts';
import { groupLayers } from './groupLayers.ts';
import { hoistInitializers } from './hoistInitializers.ts';
import { inferGraph, mostNamedReasons, mostSubgraphs } from './inferGraph.ts';
import { collectIssues } from './issueCollector.ts';
import { issuesOfAssumedWeights } from './issuesOfAssumedWeights.ts';
import { issuesOfComplexProducts } from './issuesOfComplexProducts.ts';
import { issuesOfComputedWeights } from './issuesOfComputedWeights.ts';
import { issuesOfFusedOperators } from './issuesOfFusedOperators.ts';
import { issuesOfLostCasts } from './issuesOfLostCasts.ts';
import { issuesOfSequenceLengths } from './issuesOfSequenceLengths.ts';
import { joinBatchStatistics } from './joinBatchStatistics.ts';
import { joinMaskedWrites } from './joinMaskedWrites.ts';
import { joinSlices } from './joinSlices.ts';
import { joinSplits } from './joinSplits.ts';
import type { ModelAnalysis, ModelSymbol } from './modelAnalysis.ts';
import { collectOperatorKinds } from './operatorKinds.ts';
import { originOf } from './originOf.ts';
import { withOutsideAutocast } from './outsideAutocast.ts';
import { planCosting } from './planCosting.ts';
import { joinBilinear } from './recordedBilinear.ts';
import { withCopies } from './recordedCopies.ts';
import { recordedDetachments } from './recordedDetachments.ts';
import { withInPlaceCalls } from './recordedInPlace.ts';
import { namedScatters } from './recordedScatters.ts';
import { nodesWithoutGradients } from './regionsWithoutGradients.ts';
import { foldGraph } from './repetition/foldGraph.ts';
import { proveRepetition } from './repetition/proveRepetition.ts';
import { statedRepetitions } from './repetition/statedRepetitions.ts';
import { unfoldAnalysis } from './repetition/unfoldAnalysis.ts';
import { restoreWeights } from './restoreWeights.ts';
import { splitCalls } from './splitCalls.ts';
import { splitSharedCentres } from './splitSharedCentres.ts';
import { straightThrough } from './straightThrough.ts';
import { issuesOfAssumedCasts, withPromotions } from './typePromotions.ts';
import { unrollLoops } from './unrollLoops.ts';

/**
 * Analyses a model: shapes of every value, layers by module scope, trainable tensors.
 *
 * `provided` hands over what a lowering knows already. Never throws on a bad model: what is wrong is in `issues`,
 * and what cannot be known is unknown with its reason. Where the source states that blocks repeat, and `folds`, the
 * graph is analysed with a few of them, and the others are copies; what comes out is the same.
 */
export const analyzeOnnx = (file: OnnxModel, provided?: ProvidedStructure, folds = true): ModelAnalysis =>
  finish(analyzeInSteps(file, provided, folds));

/** The same in steps: expanding, analysing, and writing it once for each block that repeats. */
export function* analyzeInSteps(
  file: OnnxModel,
  provided?: ProvidedStructure,
  folds = true,
): Steps<ModelAnalysis> {
  const model = { ...file, graph: hoistInitializers(file.graph) };
  const expanded = expandFunctions(model);
  const useful = dropDeadNodes(expanded.nodes, model.graph);
  const unrolled = unrollLoops(writeOutBags(useful.nodes, model.graph), model.graph);
  const centred = splitSharedCentres(unrolled, model);
  const stored =
    provided === undefined
      ? restoreWeights(
          joinBatchStatistics(
            joinSplits(joinSlices({ nodes: splitCalls(centred.nodes, model), graph: model.graph })),
          ),
        )
      : { nodes: unrolled, graph: model.graph };
  const fused = issuesOfFusedOperators(model.graph.nodes);
  const assumed = provided === undefined ? centred.issues : [];
  const issues = [...(provided?.issues ?? []), ...expanded.issues, ...useful.issues, ...fused, ...assumed];
  const given = givenLayers(provided ?? {}, model.graph.nodes.length);
  const { graph } = stored;
  const stopped = provided === undefined ? recordedDetachments(stored) : undefined;
  const called = stopped?.nodes ?? stored.nodes;
  const nodes =
    provided === undefined
      ? joinMaskedWrites(joinBilinear(namedScatters(called, given), graph), graph)
      : namedScatters(called, given);
  const detached =
    provided?.detached ??
    new Set([
      ...(stopped?.detached ?? []),
      ...straightThrough(nodes),
      ...resultsOf(nodesWithoutGradients(onnxNodesOf(nodes), graph)),
    ]);
  const repetitions = folds ? statedRepetitions({ ...model, graph }, nodes, provided) : [];
  const subject = { model, graph, nodes, issues, provided, given, detached };
  return (yield* analyzeNodes(subject, repetitions)).analysis;
}

const onnxNodesOf = (nodes: readonly FlatNode[]): readonly OnnxNode[] => nodes.map(({ node }) => node);
const resultsOf = (nodes: Iterable<OnnxNode>): readonly string[] =>
  [...nodes].flatMap(({ outputs }) => outputs);

/** A graph whose functions are expanded. */
interface Subject {
  readonly model: OnnxModel;
  readonly graph: OnnxGraph;
  readonly nodes: readonly FlatNode[];
  /** What is known to be wrong with it. */
  readonly issues: readonly Issue[];
  readonly provided: ProvidedStructure | undefined;
  readonly given: GivenLayers;
  /** Values that no gradient passes behind. */
  readonly detached: ReadonlySet<string>;
}

interface Analyzed {
  readonly analysis: ModelAnalysis;
  readonly uses: Roles['uses'];
}

/** Analyses a graph with most blocks left out of its last repetition, of the one before, and so on. */
function* analyzeNodes(subject: Subject, stated: readonly StatedRepetition[]): Steps<Analyzed> {
  const { graph, nodes, provided, given } = subject;
  for (let last = stated.length - 1; last >= 0; last -= 1) {
    const next = stated[last];
    const repetition = next && proveRepetition(nodes, graph, next);
    if (repetition === undefined) continue;
    yield;
    const folded = foldGraph(graph, nodes, repetition);
    const short = yield* analyzeNodes(
      { ...subject, graph: folded.graph, nodes: folded.nodes },
      stated.slice(0, last),
    );
    yield;
    const analysis = unfoldAnalysis({ ...short, graph, nodes, provided, given, folded, repetition });
    return analysis === undefined ? yield* analyzeGraph(subject) : { analysis, uses: short.uses };
  }
  return yield* analyzeGraph(subject);
}

function* analyzeGraph({
  model,
  graph: source,
  nodes,
  issues: known,
  provided,
  given,
  detached,
}: Subject): Steps<Analyzed> {
  const issues: Issue[] = [...known];
  const operatorSets = new Map(
    model.operatorSets.map(({ domain, version }) => [domain === 'ai.onnx' ? '' : domain, version]),
  );
  const inferred = inferGraph(source, nodes, {
    operatorSets,
    issues: collectIssues(issues),
    kinds: collectOperatorKinds(),
    outer: () => undefined,
    depth: 0,
    subgraphs: { left: mostSubgraphs },
    namedReasons: { left: mostNamedReasons },
  });
  const { scopes, captured } = inferred;
  const callOf = (operator: Operator) => originOf(scopes[operator.index], operator.source, given).call;
  const promoted = withPromotions(withDetached(inferred.graph, detached), callOf);
  const graph = withOutsideAutocast(withInPlaceCalls(withCopies(promoted, callOf), callOf), callOf);
  yield;
  const { roles, parameters, frozen, uses } = findRoles(graph, captured, provided?.roles ?? new Map());
  issues.push(...issuesOfComputedWeights(graph, parameters, uses), ...issuesOfSequenceLengths(graph));
  // The exporters of PyTorch alone name stored tensors as the program does.
  if (model.producerName === 'pytorch') {
    issues.push(
      ...issuesOfAssumedWeights(graph, parameters, uses, (name) => provided?.roles?.has(name) === true),
    );
  }
  const withParameters = withRoles(graph, roles);
  if (model.producerName === 'pytorch') issues.push(...issuesOfAssumedCasts(withParameters, callOf));
  const auxiliary = findAuxiliaryOperators(withParameters);
  const finished = withRoles(withParameters, rolesBehind(withParameters, auxiliary));
  yield;
  const originAt = (index: number) => originOf(scopes[index], finished.operators[index]?.source, given);
  const composites = findComposites(finished, compositePatterns, originAt);
  if (model.producerName === 'pytorch') {
    const isAuxiliary = (index: number) => auxiliary.shapeArithmetic[index] === true;
    const traceOf = (index: number) =>
      model.graph.nodes[finished.operators[index]?.source ?? -1]?.metadata.get('pkg.torch.onnx.stack_trace');
    issues.push(...issuesOfLostCasts(finished, composites, originAt, isAuxiliary, traceOf));
    issues.push(...issuesOfComplexProducts(finished, originAt));
  }
  const analysis: ModelAnalysis = {
    graph: finished,
    composites,
    layers: groupLayers(finished, composites, scopes, auxiliary, given),
    parameters,
    frozen,
    ...(provided?.batchSymbol === undefined
      ? batchOf(finished)
      : { batchSymbol: provided.batchSymbol, fixedBatch: undefined }),
    symbols: symbolNames(finished, provided).map((name) => symbolOf(name, provided)),
    issues,
    costing: planCosting(finished, auxiliary),
  };
  return { analysis, uses };
}

/** The graph with the roles found; an input that turned out to be a parameter is an input no longer. */
function withRoles(graph: Graph, roles: ReadonlyMap<string, ValueRole>): Graph {
  if (roles.size === 0) return graph;
  const values = new Map(graph.values);
  for (const [name, role] of roles) {
    const value = values.get(name);
    if (value !== undefined) values.set(name, { ...value, role });
  }
  return { ...graph, inputs: graph.inputs.filter((name) => values.get(name)?.role === 'input'), values };
}

function withDetached(graph: Graph, detached: ReadonlySet<string>): Graph {
  if (detached.size === 0) return graph;
  const values = new Map(graph.values);
  for (const name of detached) {
    const value = values.get(name);
    if (value !== undefined) values.set(name, { ...value, isDetached: true });
  }
  return { ...graph, values };
}

/** A parameter in another layout is the parameter; what is folded or computed on the host is a constant. */
function rolesBehind(graph: Graph, auxiliary: AuxiliaryOperators): ReadonlyMap<string, ValueRole> {
  const roles = new Map<string, ValueRole>();
  for (const operator of graph.operators) {
    const isLayout = auxiliary.storedLayout[operator.index] === true;
    if (!isLayout && auxiliary.shapeArithmetic[operator.index] !== true) continue;
    const source = operator.inputs[0] ?? '';
    const isFrozen = (roles.get(source) ?? graph.values.get(source)?.role) === 'frozen';
    const ofLayout = isFrozen ? 'frozen' : 'parameter';
    for (const name of operator.outputs) {
      if (graph.values.get(name)?.role === 'activation') roles.set(name, isLayout ? ofLayout : 'constant');
    }
  }
  return roles;
}

/** The batch is the leading dimension of the first input that has one. */
function batchOf(graph: Graph): Pick<ModelAnalysis, 'batchSymbol' | 'fixedBatch'> {
  for (const name of graph.inputs) {
    const type = graph.values.get(name)?.type;
    if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) continue;
    const [leading] = type.shape;
    // A negative size is reported with its shape; it is no batch.
    if (leading === undefined || (typeof leading === 'number' && leading < 0)) continue;
    if (typeof leading === 'number') return { batchSymbol: undefined, fixedBatch: leading };
    return { batchSymbol: symbolsOf(leading)[0], fixedBatch: undefined };
  }
  return { batchSymbol: undefined, fixedBatch: undefined };
}

/** Symbols of all shapes, those of the inputs first, and those whose value a lowering has put into the graph. */
function symbolOf(name: string, provided: ProvidedStructure | undefined): ModelSymbol {
  const limit = provided?.symbolLimits?.get(name);
  return { name, default: provided?.symbolDefaults.get(name), ...(limit === undefined ? {} : { limit }) };
}

function symbolNames(graph: Graph, provided: ProvidedStructure | undefined): readonly string[] {
  const names = new Set<string>();
  for (const name of graph.inputs) addSymbols(graph.values.get(name)?.type, names);
  const types = new Set<ValueType>();
  for (const value of graph.values.values()) types.add(value.type);
  for (const type of types) addSymbols(type, names);
  for (const name of provided?.symbolDefaults.keys() ?? []) names.add(name);
  return [...names].filter((name) => provided?.reportedSymbols?.has(name) !== true);
}

function addSymbols(type: ValueType | undefined, names: Set<string>): void {
  if (type?.kind === 'sequence' || type?.kind === 'optional') addSymbols(type.element, names);
  if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return;
  for (const dimension of type.shape) {
    if (isSymbolic(dimension)) for (const name of symbolsOf(dimension)) names.add(name);
  }
}
