/** A word that names nothing becomes a word that does: the nearest, of clusters any that holds what is written. */

import { findMark, markDefinitions } from '../../../formats/layer-spec/marks.ts';
import { scenarioKeys } from '../../../formats/layer-spec/scenarioKeys.ts';
import { modelKeys, specKeys } from '../../../formats/layer-spec/specKeys.ts';
import { builtInClusters } from '../../../hardware/clusters.ts';
import { layerDefinitions } from '../../../lowering/layer-spec/layerDefinitions.ts';
import { elementTypes } from '../../../model/elementType.ts';
import { likelyNames, mostProposed } from '../../../model/likelyNames.ts';
import { likelyName } from '../../../model/nearestName.ts';
import type { Diagnostic } from '../../diagnostics.ts';
import { misspeltDefinition } from '../../misspeltDefinition.ts';
import { callableBlocks, findCallable, onnxOperators } from '../callable.ts';
import { calledLayers, holds, type SpecText } from '../specText.ts';
import { layersAt, visibleTensors, visibleValues } from '../visibleNames.ts';
import { frameworkFixes } from './frameworkFixes.ts';
import type { Change, Wrong } from './wrong.ts';

/** Another name would call another block. */
const containsItself = ({ message }: Diagnostic): boolean => message.includes('contains itself');

export function nameFixes(wrong: Wrong): readonly Change[] {
  const { document, diagnostic, span } = wrong;
  if (diagnostic.severity !== 'error' || containsItself(diagnostic)) return [];
  const ofFramework = frameworkFixes(wrong);
  if (ofFramework !== undefined) return ofFramework;
  const word = document.source.slice(span.start, span.end);
  if (!/^['"]?[\p{L}_][\p{L}\p{N}_-]*['"]?$/u.test(word)) return [];
  const bare = word.replace(/['"]/g, '');
  const candidates = candidatesAt(document, diagnostic.code, span.start);
  const meant =
    diagnostic.code === 'scenario/unknown-cluster'
      ? likelyNames(bare, candidates).slice(0, mostProposed)
      : [likelyName(bare, candidates)];
  const quoted = word.length - bare.length === 2;
  const place = quoted ? { start: span.start + 1, end: span.end - 1 } : span;
  const [first = ''] = meant;
  const definition = misspeltDefinition(document.source, bare, first);
  if (definition !== undefined) {
    return [{ title: `Rename \`${first}\` to \`${bare}\``, edits: [{ span: definition, text: bare }] }];
  }
  return meant.flatMap((name) => (name === undefined || name === bare ? [] : [replacement(place, name)]));
}

const replacement = (span: { readonly start: number; readonly end: number }, near: string): Change => ({
  title: `Change to \`${near}\``,
  edits: [{ span, text: near }],
});

function candidatesAt(document: SpecText, code: string, offset: number): readonly string[] {
  const { spec, source } = document;
  const placed = calledLayers(spec).find(({ layer }) => holds(layer.span, offset));
  const place = { block: placed?.block?.name.text, model: placed?.model };
  switch (code) {
    case 'spec/unknown-layer': {
      const names = [
        ...callableBlocks(document).map(({ name }) => name),
        ...layerDefinitions.map(({ name }) => name),
      ];
      return [...names, ...onnxOperators().map(({ name }) => name)];
    }
    case 'spec/unknown-source': {
      const before = placed?.layer.span.start ?? Number.MAX_SAFE_INTEGER;
      return visibleTensors(source, spec, place, before).map(({ name }) => name);
    }
    case 'spec/dimension':
      return visibleValues(spec, place);
    case 'spec/argument': {
      const callable = placed && findCallable(document, placed.call.callee.text);
      const names = callable?.parameters.map(({ name }) => name) ?? [];
      const argument = placed?.call.arguments.find((each) => holds(each.span, offset));
      const inValue = argument !== undefined && offset >= argument.value.span.start;
      const parameter = callable?.parameters.find(({ name }) => name === argument?.keyword?.text);
      return inValue ? (parameter?.choices ?? []) : names;
    }
    case 'spec/structure':
      return [
        ...specKeys,
        ...modelKeys,
        ...elementTypes,
        ...layersAt(spec, place).map(({ name }) => name.text),
      ];
    case 'spec/scenario': {
      const values = Object.values(scenarioKeys).flatMap(({ kind }) =>
        typeof kind === 'string' ? [] : kind,
      );
      return [...Object.keys(scenarioKeys), ...values];
    }
    case 'spec/call': {
      const marks = markDefinitions.map(({ name }) => name);
      return [...marks, 'from', ...(findMark('precision')?.values ?? [])];
    }
    case 'scenario/unknown-cluster':
      return builtInClusters.map(({ name }) => name);
    default:
      return [];
  }
}
