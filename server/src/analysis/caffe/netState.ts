/** Which layers are in the net: rules of phase, level and stage (src/caffe/net.cpp, FilterNet and StateMeetsRule). */

import {
  type CaffeLayer,
  type CaffeMessage,
  type CaffeNet,
  messageOf,
  messagesOf,
  numberOf,
  numbersOf,
  textOf,
  wordsOf,
} from '../../formats/caffe/syntax.ts';
import type { Issue } from '../../model/issue.ts';

export type Phase = 'TRAIN' | 'TEST';

/** The layers of `net` in a phase; level and stages are those the net itself gives. */
export function layersInPhase(net: CaffeNet, phase: Phase): readonly CaffeLayer[] {
  const state = messageOf(net.fields, 'state');
  const level = numberOf(state, 'level') ?? 0;
  const stages = new Set(wordsOf(state, 'stage').map(({ text }) => text));
  const meets = (rule: CaffeMessage): boolean => {
    const wanted = textOf(rule, 'phase');
    if (wanted !== undefined && wanted !== phase) return false;
    const [least] = numbersOf(rule, 'min_level');
    const [most] = numbersOf(rule, 'max_level');
    if ((least !== undefined && level < least) || (most !== undefined && level > most)) return false;
    return (
      wordsOf(rule, 'stage').every(({ text }) => stages.has(text)) &&
      !wordsOf(rule, 'not_stage').some(({ text }) => stages.has(text))
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
