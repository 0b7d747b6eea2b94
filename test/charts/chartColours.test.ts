/**
 * What stands in one chart is told apart by its colour, in the editor's own themes and in a page of its own: colours are
 * as far apart in CIELAB as the table says, where 2.3 is a difference that is just seen (Mahy, Van Eycken and Oosterlinck 1994).
 */

import { expect, it } from 'vitest';
import { chartStyle } from '../../server/src/charts/chartStyle.ts';
import { memoryKinds } from '../../server/src/charts/memoryChart.ts';
import { type Colour, colourDistance, over, parseColour } from '../support/colours.ts';
import { themeColours } from '../support/themeColours.ts';

/** Of VS Code's theme, and those of the page itself where there is no editor. */
type Variables = Readonly<Record<string, string>>;

const declared = (css: string): Variables =>
  Object.fromEntries([...css.matchAll(/--([\w-]+):\s*([^;]+);/g)].map(([, name, value]) => [name, value]));

const [ownLight = '', ownDark = ''] = [...chartStyle.matchAll(/:root \{ (--default[^}]*)\}/g)].map(
  ([, rules]) => rules,
);
const shared = declared(chartStyle.slice(chartStyle.indexOf(':root {\n')));

const schemes: Readonly<Record<string, Variables>> = {
  ...Object.fromEntries(
    Object.entries(themeColours).map(([theme, colours]) => [
      theme,
      Object.fromEntries(Object.entries(colours).map(([name, colour]) => [`vscode-${name}`, colour])),
    ]),
  ),
  'own light': declared(ownLight),
  'own dark': declared(ownDark),
};

/** `var(--vscode-charts-blue, var(--default-blue))` to the first of them that the scheme has. */
function resolve(value: string, scheme: Variables): string {
  const [, name, rest] = /^var\(--([\w-]+)(?:, (.*))?\)$/.exec(value) ?? [];
  if (name === undefined) return value;
  const own = scheme[name] ?? shared[name];
  if (own !== undefined) return resolve(own, scheme);
  if (rest === undefined) throw new Error(`${value} has no colour`);
  return resolve(rest, scheme);
}

/** What `property` of the class is on the ground of the scheme. */
function colourOf(name: string, property: 'fill' | 'stroke', scheme: Variables): Colour {
  const rules = [...chartStyle.matchAll(new RegExp(`\\.chart \\.${name} \\{([^}]*)\\}`, 'g'))]
    .map(([, each]) => each)
    .join('');
  const value = new RegExp(`(?:^|[ ;])${property}: ([^;]+);`).exec(rules)?.[1];
  if (value === undefined) throw new Error(`.${name} has no ${property}`);
  const opacity = Number(new RegExp(`${property}-opacity: ([\\d.]+)`).exec(rules)?.[1] ?? 1);
  const ground = parseColour(resolve('var(--ground)', scheme));
  return over(parseColour(resolve(value, scheme)), opacity, ground);
}

const charts = {
  memory: { property: 'fill', series: memoryKinds.map(([kind]) => kind) },
  timeline: {
    property: 'fill',
    series: ['launch', 'forward', 'backward', 'update', 'message', 'input', 'stripe'],
  },
  scaling: {
    property: 'stroke',
    series: ['curve', 'curve-1', 'curve-2', 'curve-3', 'curve-4', 'curve-5'],
  },
} as const;

/** Any two of a chart may touch: a kind of which there is nothing leaves its neighbours side by side. */
const leastBetween = 20;
const leastToGround = 20;

it.each(
  Object.keys(schemes).flatMap((scheme) =>
    (['memory', 'timeline', 'scaling'] as const).map((chart) => [chart, scheme] as const),
  ),
)('colours of %s are told apart in %s', (chart, name) => {
  const scheme = schemes[name] ?? {};
  const { property, series } = charts[chart];
  const colours = series.map((each) => [each, colourOf(each, property, scheme)] as const);
  const ground = parseColour(resolve('var(--ground)', scheme));
  const near = [
    ...colours.flatMap(([one, colour], index) =>
      colours.slice(index + 1).flatMap(([other, beside]) => {
        const distance = colourDistance(colour, beside);
        return distance < leastBetween ? [`${one} and ${other}: ${distance.toFixed(0)}`] : [];
      }),
    ),
    ...colours.flatMap(([one, colour]) => {
      const distance = colourDistance(colour, ground);
      return distance < leastToGround ? [`${one} and the ground: ${distance.toFixed(0)}`] : [];
    }),
  ];
  expect(near).toEqual([]);
});
