/** Which layers are in the net: rules of phase, level and stage (src/caffe/net.cpp, FilterNet and StateMeetsRule). */

import {
  type CaffeLayer,
  type CaffeMessage,
  type CaffeNet,
  messageOf,
  messagesOf,
  numberOr,
  numbersOf,
  textOf,
  wordsOf,
} from '../../formats/caffe/syntax.ts';
import type { Issue } from '../../model/issue.ts';
import { isDataLayer } from './isDataLayer.ts';

export type Phase = 'TRAIN' | 'TEST';

export interface NetInPhase {
  readonly phase: Phase;
  readonly layers: readonly CaffeLayer[];
  /** Stages that a solver would give, taken from the first data layer that asks for some. */
  readonly assumedStages: readonly string[];
}

/**
 * The layers of `net` in a phase; level and stages are those the net itself gives. Where no data comes into the net
 * without stages, those of its first data layer of this phase are assumed.
 */
export function netInPhase(net: CaffeNet, phase: Phase): NetInPhase {
  const stages = wordsOf(messageOf(net.fields, 'state'), 'stage').map(({ text }) => text);
  const layers = layersInState(net, phase, stages);
  if (hasData(net, layers)) return { phase, layers, assumedStages: [] };
  const rules = net.layers
    .filter(isDataLayer)
    .flatMap(({ fields }) => messagesOf(fields, 'include'))
    .filter((rule) => (textOf(rule, 'phase') ?? phase) === phase);
  const assumedStages = rules.map(stagesOf).find((asked) => asked.length > 0) ?? [];
  if (assumedStages.length === 0) return { phase, layers, assumedStages };
  return { phase, layers: layersInState(net, phase, [...stages, ...assumedStages]), assumedStages };
}

/** Whether anything is computed, from data that comes in. */
export const isWhole = (net: CaffeNet, { layers }: NetInPhase): boolean =>
  hasData(net, layers) && layers.some((layer) => !isDataLayer(layer));

const hasData = (net: CaffeNet, layers: readonly CaffeLayer[]): boolean =>
  net.fields.fields.has('input') || layers.some((layer) => isDataLayer(layer) || layer.type === 'Parameter');

const stagesOf = (rule: CaffeMessage): readonly string[] => wordsOf(rule, 'stage').map(({ text }) => text);

function layersInState(net: CaffeNet, phase: Phase, stages: readonly string[]): readonly CaffeLayer[] {
  const level = numberOr(messageOf(net.fields, 'state'), 'level', 0);
  const meets = (rule: CaffeMessage): boolean => {
    const wanted = textOf(rule, 'phase');
    if (wanted !== undefined && wanted !== phase) return false;
    const [least] = numbersOf(rule, 'min_level');
    const [most] = numbersOf(rule, 'max_level');
    if ((least !== undefined && level < least) || (most !== undefined && level > most)) return false;
    return (
      stagesOf(rule).every((stage) => stages.includes(stage)) &&
      !wordsOf(rule, 'not_stage').some(({ text }) => stages.includes(text))
    );
  };
  return net.layers.filter(({ fields }) => {
    const include = messagesOf(fields, 'include');
    return include.length > 0 ? include.some(meets) : !messagesOf(fields, 'exclude').some(meets);
  });
}

/** Layers with rules of both kinds, which Caffe refuses. */
export function ruleIssues(net: CaffeNet): readonly Issue[] {
  return net.layers.flatMap(({ fields }): readonly Issue[] => {
    const exclude = fields.fields.get('exclude');
    if (exclude === undefined || !fields.fields.has('include')) return [];
    const message = 'A layer has `include` or `exclude` rules, not both: remove one kind';
    return [{ code: 'caffe/layer', severity: 'error', message, span: exclude.nameSpan }];
  });
}
