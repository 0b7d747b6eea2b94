/** A misspelt framework, option or value of an option in a scenario becomes the nearest one that there is. */

import { findFramework, frameworks } from '../../../frameworks/registry.ts';
import type { TextSpan } from '../../../model/issue.ts';
import { likelyNames, mostProposed } from '../../../model/likelyNames.ts';
import type { Change, Wrong } from './wrong.ts';

/** `undefined` where the diagnostic is about no part of a framework. */
export function frameworkFixes({ document, diagnostic, span }: Wrong): readonly Change[] | undefined {
  const { spec, source } = document;
  const found = [...spec.models, spec].flatMap((body) => {
    const place = [...body.scenarioSpans].find(
      ([name, { start, end }]) => name.startsWith('framework.') && start === span.start && end === span.end,
    );
    return place === undefined ? [] : [{ body, name: place[0].slice('framework.'.length) }];
  });
  const [{ body, name } = { body: spec, name: '' }] = found;
  if (name === '') return undefined;
  const word = source.slice(span.start, span.end);
  if (name === 'name') {
    const names = frameworks.map((framework) => framework.name);
    return diagnostic.code === 'scenario/unknown-framework'
      ? likelyWithin(source, span, bare(word), names)
      : [];
  }
  const { framework } = body.scenario;
  const options = findFramework(framework?.name ?? '')?.options ?? [];
  const option = options.find((candidate) => candidate.name === name);
  if (option !== undefined) {
    const value = framework?.options[name] ?? '';
    // The value stands behind the option's name, which may hold the same letters.
    const start = span.start + name.length;
    return likelyWithin(source, { start, end: span.end }, value, option.expects.choices ?? []);
  }
  return likelyWithin(
    source,
    span,
    name,
    options.map((candidate) => candidate.name),
  );
}

const bare = (word: string): string => word.replace(/^['"]|['"]$/g, '');

/** The likely ones of `names` in the place of a word somewhere within `span`, the first of them first. */
function likelyWithin(
  source: string,
  { start, end }: TextSpan,
  wrong: string,
  names: readonly string[],
): readonly Change[] {
  const at = wrong === '' ? -1 : source.indexOf(wrong, start);
  if (at < 0 || at >= end) return [];
  return likelyNames(wrong, names)
    .slice(0, mostProposed)
    .filter((name) => name !== wrong)
    .map((name) => ({
      title: `Change to \`${name}\``,
      edits: [{ span: { start: at, end: at + wrong.length }, text: name }],
    }));
}
