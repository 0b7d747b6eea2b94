/**
 * Text generation as one operator of ONNX Runtime: a decoder that runs until every sequence has ended.
 *
 * How many steps that takes depends on the text; what one step costs is the cost of the decoder. Source:
 * docs/ContribOperators.md of microsoft/onnxruntime.
 */

import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import { unknownCount } from '../controlflow/perIteration.ts';
import type { Inference, InferenceContext, OperatorDefinition } from '../definition.ts';
import { unknownMap } from '../dimensionMap.ts';
import { scalarOf } from '../vocabulary/contents.ts';
import { defineContrib } from '../vocabulary/define.ts';
import { detached } from '../vocabulary/facts.ts';
import { tensor, tensorOfUnknownShape, whyUnknown } from '../vocabulary/types.ts';

const rows: readonly (readonly [type: string, documentation: string, beams: boolean, inputs: string])[] = [
  [
    'BeamSearch',
    'sequences that a decoder generates, the best of several beams',
    true,
    'input_ids max_length min_length num_beams num_return_sequences length_penalty repetition_penalty vocab_mask prefix_vocab_mask attention_mask decoder_input_ids logits_processor',
  ],
  [
    'GreedySearch',
    'sequences that a decoder generates, the likeliest token each time',
    false,
    'input_ids max_length min_length repetition_penalty vocab_mask prefix_vocab_mask attention_mask',
  ],
  [
    'Sampling',
    'sequences that a decoder generates, tokens drawn by their likelihood',
    false,
    'input_ids max_length min_length repetition_penalty vocab_mask prefix_vocab_mask attention_mask presence_mask seed',
  ],
  [
    'WhisperBeamSearch',
    'transcripts that a decoder generates, the best of several beams',
    true,
    'input_ids max_length min_length num_beams num_return_sequences length_penalty repetition_penalty vocab_mask prefix_vocab_mask attention_mask decoder_input_ids logits_processor cross_qk_layer_head extra_decoding_ids temperature',
  ],
];

export const textGeneration: readonly OperatorDefinition[] = rows.map(
  ([type, documentation, beams, inputs]) =>
    defineContrib({
      type,
      documentation,
      inputs: inputs.split(' ').map(detached),
      pytorch: { layer: type, autocast: 'subgraph' },
      infer: (context) => inferSequences(context, beams),
      dimensions: () => unknownMap('the decoder is a graph of its own'),
      cost: (context) =>
        unknownCount(
          'how many tokens are generated is known only when the model runs',
          'one step of the decoder',
          context.subgraphCost('decoder'),
        ),
    }),
);

/** [batch, sequences to return, max_length] of beams, [batch, max_length] of one sequence each; the rest is scores. */
function inferSequences(context: InferenceContext, beams: boolean): Inference {
  for (const name of ['encoder', 'init_decoder', 'decoder']) {
    if (context.attribute(name)?.kind === 'graph') context.inferSubgraph(name, []);
  }
  const sizeOf = (index: number): Dimension =>
    scalarOf(context, index) ?? unknownDimension(whyUnknown(context, index));
  const batch = context.inputShape(0)?.[0] ?? unknownDimension(whyUnknown(context, 0));
  const shape = beams ? [batch, sizeOf(4), sizeOf(1)] : [batch, sizeOf(1)];
  const scores = Array.from({ length: Math.max(0, context.outputCount - 1) }, () =>
    tensorOfUnknownShape('float32', 'scores are as many as tokens are generated'),
  );
  return { outputs: [tensor('int32', shape), ...scores] };
}
