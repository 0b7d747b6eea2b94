/**
 * Ensembles of decision trees.
 *
 * A sample walks one path through each tree. Its length depends on the data; counted is that of a balanced tree,
 * log₂ of the leaves per tree, one comparison each, and one addition per tree and target.
 */

import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import { withdrawn } from '../vocabulary/define.ts';
import { detached } from '../vocabulary/facts.ts';
import { elementTypeOf, invalid, single, tensor } from '../vocabulary/types.ts';
import { lengthOfList } from './attributes.ts';
import { inferClasses } from './models.ts';
import { defineMl, modelCost, samplesMap, samplesOf } from './samples.ts';

export const treeEnsembles: readonly OperatorDefinition[] = [
  replaced({
    type: 'TreeEnsembleClassifier',
    version: 3,
    documentation: 'class that decision trees vote for, and scores',
    inputs: [detached('X')],
    autocast: 'widest',
    infer: (context) => inferClasses(context, 'classlabels_int64s'),
    dimensions: samplesMap,
    cost: walkCost,
  }),
  replaced({
    type: 'TreeEnsembleRegressor',
    version: 3,
    documentation: 'sums of the leaves that decision trees reach',
    inputs: [detached('X')],
    autocast: 'widest',
    infer: (context) => single(tensor('float32', [samplesOf(context), targetsOf(context)])),
    dimensions: samplesMap,
    cost: walkCost,
  }),
  defineMl({
    type: 'TreeEnsemble',
    since: 5,
    documentation: 'sums of the leaves that decision trees reach, leaves and nodes apart',
    inputs: [detached('X')],
    autocast: 'widest',
    infer: inferTreeEnsemble,
    dimensions: samplesMap,
    cost: walkCost,
  }),
];

/** The two ensembles before version 5, which has one for both. */
function replaced(definition: Parameters<typeof defineMl>[0]): OperatorDefinition {
  return withdrawn(5, 'TreeEnsemble', defineMl(definition));
}

const targetsOf = (context: InferenceContext): number => Math.max(1, context.int('n_targets', 1));

/** Lists of equal length, one entry per node or per leaf; splits and leaves have the input's element type. */
function inferTreeEnsemble(context: InferenceContext): Inference {
  for (const names of [
    [
      'nodes_featureids',
      'nodes_splits',
      'nodes_modes',
      'nodes_truenodeids',
      'nodes_falsenodeids',
      'nodes_trueleafs',
      'nodes_falseleafs',
    ],
    ['leaf_targetids', 'leaf_weights'],
  ]) {
    const [first = ''] = names;
    const count = lengthOfList(context, first);
    for (const name of names) {
      const other = lengthOfList(context, name);
      if (other !== count)
        return invalid(
          `${first} has ${count ?? 'no'} entries, ${name} ${other ?? 'none'}; both have one per ${first.startsWith('leaf') ? 'leaf' : 'node'}`,
        );
    }
  }
  const elementType = elementTypeOf(context, 0);
  for (const name of ['nodes_splits', 'leaf_weights']) {
    const type = context.tensor(name)?.elementType;
    if (type !== undefined && elementType !== 'undefined' && type !== elementType)
      return invalid(`${name} is of ${type}, but the input is of ${elementType}`);
  }
  return single(tensor(elementType, [samplesOf(context), targetsOf(context)]));
}

function walkCost(context: CostContext): OperatorCost {
  const roots = lengthOfList(context, 'tree_roots');
  const ids = context.ints('nodes_treeids');
  const trees = Math.max(1, roots ?? (ids === undefined ? 1 : new Set(ids).size));
  const nodes = ids?.length ?? lengthOfList(context, 'nodes_featureids') ?? 1;
  const leaves = lengthOfList(context, 'leaf_targetids') ?? nodes / 2;
  const depth = Math.log2(Math.max(2, leaves / trees));
  const scores = context.output(context.outputCount > 1 ? 1 : 0)?.dimensions.at(-1) ?? 1;
  return modelCost(context, { operations: trees * (depth + 1) + scores });
}
