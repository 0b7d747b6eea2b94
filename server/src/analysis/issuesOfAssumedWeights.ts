/**
 * What is said where a TorchScript export does not tell parameters from buffers: it has both as stored tensors, by the names
 * that the program gave them. What stands in arithmetic alone, by a name that says neither, is costed as trained.
 */

import { formatCount } from '../model/format.ts';
import { type Graph, isKnownShape, type Value } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import { isAnonymousTensor } from '../model/tensorNames.ts';
import { totalElements } from '../model/totalElements.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import type { Use } from './findRoles.ts';
import type { Parameter } from './modelAnalysis.ts';

/** `given` names tensors whose role the person or the format said. */
export function issuesOfAssumedWeights(
  graph: Graph,
  parameters: readonly Parameter[],
  uses: ReadonlyMap<string, Use>,
  isGiven: (name: string) => boolean,
): readonly Issue[] {
  // The default exporter records what each is, and which call each operator is a part of.
  const isRecorded = parameters.some(
    ({ name }) => graph.values.get(name)?.literal?.origin?.kind !== undefined,
  );
  if (isRecorded) return [];
  const assumed = parameters.filter(({ name, elements }) => {
    const value = graph.values.get(name);
    if (elements === 1 || isGiven(name) || value?.literal === undefined) return false;
    if (isAddedVector(graph, value)) return true;
    if (!isProgramsName(name) || weightNames.test(name)) return false;
    const isWeight = uses.get(name)?.asWeight === true && !isListLookedUp(graph, name);
    return !isWeight || tableNames.test(name);
  });
  const [first] = assumed;
  if (first === undefined) return [];
  const others = assumed.length === 1 ? '' : ` and ${assumed.length - 1} more`;
  const elements = totalElements(assumed);
  const message = `The file does not say whether \`${first.name}\`${others} ${assumed.length === 1 ? 'is' : 'are'} trained: ${formatCount(elements)} elements are costed as parameters. If they are buffers, name them under \`freeze\`, or export with \`dynamo=True\`, which records it`;
  return [{ code: 'graph/assumed-weights', severity: 'information', message, value: first.name }];
}

/**
 * Whether it is a vector that the exporter named and that the model adds to a product. The bias of a layer stands before the product;
 * what was cast, cut or computed beforehand may be a parameter or a buffer (`final_logits_bias` of BART).
 */
function isAddedVector({ operators, values }: Graph, { name, type, consumers }: Value): boolean {
  if (!isAnonymousTensor(name) || type.kind !== 'tensor' || !isKnownShape(type.shape)) return false;
  const isVector = type.shape.slice(0, -1).every((size) => size === 1);
  const isAdded = (index: number): boolean => {
    const { type: reader, inputs = [] } = operators[index] ?? {};
    const other = operators[values.get(inputs[0] ?? '')?.producer ?? -1];
    return reader === 'Add' && inputs[1] === name && other?.type === 'MatMul';
  };
  return isVector && consumers.length > 0 && consumers.every(isAdded);
}

/** `layers.0.mix`, as against what exporters name. */
const isProgramsName = (name: string): boolean => /^[A-Za-z_]\w*(\.\w+)*$/.test(name);

/** What people call parameters outside of layers. */
const weightNames =
  /weight|bias|gamma|beta|gain|scale|embed|token|query|queries|prompt|latent|position|(^|_)(pos|cls|ls|lora)|alpha|lambda|temperature|logit|table|param|codebook|prototype|centers?$/i;

/** What people call fixed tensors that stand where weights do: kernels of filters, keys of other samples, bases of transforms, random features. */
const tableNames =
  /(^|\.|_)(projection_matrix|random_(features|matrix|weights)|window|queue|memory|bank|grid|mesh|basis|bases|dct|dft|fourier|mel|fb|filterbank|gaussian|blur|sobel|laplacian|haar|wavelet|laplace|identity|eye|mask|mean|std|templates?|patterns?|knots|nodes|anchors?|priors?|adj(acency)?|a_hat|graph|edges)\d*$/i;

/** Whether numbers of one axis are chosen by index: a schedule by its step, where embeddings have vectors. */
function isListLookedUp({ operators, values }: Graph, name: string): boolean {
  const value = values.get(name);
  if (value?.type.kind !== 'tensor' || !isKnownShape(value.type.shape)) return false;
  return (
    value.type.shape.length === 1 &&
    value.consumers.every((index) => {
      const reader = operators[index];
      return reader !== undefined && hasTrait(reader, 'looks-up');
    })
  );
}
