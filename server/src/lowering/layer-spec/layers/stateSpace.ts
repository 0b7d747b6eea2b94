/** Sequences read by a state of fixed size: linear attention by the gated delta rule, and the scans of Mamba and Mamba-2. */

import { ownDomain } from '../../../operators/vocabulary/define.ts';
import { int, type LayerDefinition } from '../layerDefinition.ts';
import { integer } from './parameters.ts';

const chunkSize = (tokens: number) =>
  integer('chunk_size', 'Tokens that are computed together, by products.', {
    default: tokens,
    least: 1,
    beyond: true,
  });

const gatedDeltaRule: LayerDefinition = {
  name: 'gated_delta_rule',
  kind: 'function',
  documentation:
    'Linear attention by a state per head that decays and is corrected by each token (Gated DeltaNet): query and key [batch, tokens, heads, key], value [batch, tokens, heads, value], beta [batch, tokens, heads], decay the same or one for each element of a key.',
  source: 'https://github.com/fla-org/flash-linear-attention/blob/main/fla/ops/gated_delta_rule/chunk.py',
  inputs: { names: ['query', 'key', 'value', 'decay', 'beta'], least: 5 },
  parameters: [chunkSize(64)],
  work: '2·(chunk·(2·key + value) + 3·key·value) FLOPs per head and token.',
  example: {
    inputs: {
      ...Object.fromEntries(['q', 'k', 'v'].map((name) => [name, 'float32[8, 512, 16, 128]'])),
      ...Object.fromEntries(['g', 'b'].map((name) => [name, 'float32[8, 512, 16]'])),
    },
    call: 'gated_delta_rule(q, k, v, g, b)',
  },
  lower: (call) =>
    call.emit(`${ownDomain}.GatedDeltaRule`, call.inputs, { chunk_size: int(call.integer('chunk_size')) }),
};

const selectiveScan: LayerDefinition = {
  name: 'selective_scan',
  kind: 'function',
  documentation:
    'The scan of Mamba: u and delta [batch, channels, tokens], A [channels, state], B and C [batch, state, tokens], D [channels]; z gates what comes out.',
  source: 'https://github.com/state-spaces/mamba/blob/main/mamba_ssm/ops/selective_scan_interface.py',
  inputs: { names: ['u', 'delta', 'A', 'B', 'C', 'D', 'z', 'delta_bias'], least: 5 },
  parameters: [],
  work: '2·state FLOPs per channel and token, and 7·state operations.',
  example: {
    inputs: {
      ...Object.fromEntries(['u', 'delta'].map((name) => [name, 'float32[8, 1536, 512]'])),
      A: 'float32[1536, 16]',
      ...Object.fromEntries(['B', 'C'].map((name) => [name, 'float32[8, 16, 512]'])),
    },
    call: 'selective_scan(u, delta, A, B, C)',
  },
  lower: (call) => call.emit(`${ownDomain}.SelectiveScan`, call.inputs),
};

const stateSpaceScan: LayerDefinition = {
  name: 'state_space_scan',
  kind: 'function',
  documentation:
    'The scan of Mamba-2: x [batch, tokens, heads, size], dt [batch, tokens, heads], A [heads], B and C [batch, tokens, groups, state], D and dt_bias [heads].',
  source: 'https://github.com/state-spaces/mamba/blob/main/mamba_ssm/ops/triton/ssd_combined.py',
  inputs: { names: ['x', 'dt', 'A', 'B', 'C', 'D', 'dt_bias'], least: 5 },
  parameters: [chunkSize(256)],
  work: '2·(chunk·(state + size) + 2·state·size) FLOPs per head and token.',
  example: {
    inputs: {
      x: 'float32[8, 512, 24, 64]',
      dt: 'float32[8, 512, 24]',
      A: 'float32[24]',
      ...Object.fromEntries(['B', 'C'].map((name) => [name, 'float32[8, 512, 1, 128]'])),
    },
    call: 'state_space_scan(x, dt, A, B, C)',
  },
  lower: (call) =>
    call.emit(`${ownDomain}.StateSpaceScan`, call.inputs, { chunk_size: int(call.integer('chunk_size')) }),
};

export const stateSpaceLayers = [gatedDeltaRule, selectiveScan, stateSpaceScan];
