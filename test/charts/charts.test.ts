/** Every chart says what it shows in words, keeps names as text, and draws within its frame. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Chart, chartFile } from '../../server/src/charts/chart.ts';
import { icicleChart } from '../../server/src/charts/icicleChart.ts';
import { type MemoryMoment, memoryChart, thinned, totalOf } from '../../server/src/charts/memoryChart.ts';
import { mergeSegments } from '../../server/src/charts/mergeSegments.ts';
import { type NamedPoint, placeLabels } from '../../server/src/charts/placeLabels.ts';
import { rankMemoryChart } from '../../server/src/charts/rankMemoryChart.ts';
import { rooflineChart } from '../../server/src/charts/rooflineChart.ts';
import { type ScalingMark, scalingChart } from '../../server/src/charts/scalingChart.ts';
import { type Box, letterWidth } from '../../server/src/charts/shapes.ts';
import { timelineChart } from '../../server/src/charts/timelineChart.ts';

const odd = '<script>alert("1")</script>&';

const moment = (time: number, activations: number): MemoryMoment => ({
  time,
  where: `backward at ${odd}`,
  runtime: 2 ** 29,
  parameters: 2 ** 30,
  state: 2 ** 31,
  buffers: 0,
  gradients: 2 ** 29,
  activations,
  workspace: 2 ** 20,
});
const leaf = (name: string, value: number) => ({ name, value, layer: name, children: [] });
const mark = (gpus: number, efficiency: number | null) => ({
  gpus,
  throughput: efficiency === null ? null : gpus * 100 * efficiency,
  throughputRange: null,
  efficiency,
  limit: odd,
  fits: gpus < 8,
});

const charts: readonly (Chart | undefined)[] = [
  timelineChart({
    from: 0,
    until: 1,
    pieces: 'layers',
    note: '',
    lanes: [
      { title: odd, segments: [{ name: odd, kind: 'forward', start: 0, end: 0.6 }] },
      { title: 'GPU', segments: [{ name: odd, kind: 'wait', start: 0.6, end: 1 }] },
    ],
  }),
  memoryChart({ moments: [moment(0, 0), moment(0.5, 2 ** 32)], until: 1, capacity: 2 ** 33 }),
  rankMemoryChart({
    ranks: [
      { ...moment(0, 0), title: 'rank 1' },
      { ...moment(0, 2 ** 33), title: odd },
    ],
    capacity: 2 ** 33,
    note: '',
  }),
  icicleChart({
    name: 'time',
    title: 'time',
    root: { ...leaf(odd, 3), children: [leaf(odd, 2), leaf('b', 1)] },
    textOf: String,
  }),
  rooflineChart({
    gpu: odd,
    what: 'bf16',
    peak: 1e15,
    bandwidth: 2e12,
    points: [{ name: odd, intensity: 20, rate: 1e13, share: 1, layer: odd }],
  }),
  scalingChart([{ title: '', marks: [mark(1, 1), mark(4, 0.8), mark(8, 0.7), mark(16, null)] }], false),
  scalingChart(
    [
      { title: odd, marks: [mark(1, 1), mark(8, 0.7)] },
      { title: 'b', marks: [mark(2, 0.9), mark(4, 0.6)] },
      { title: 'c', marks: [mark(1, null)] },
    ],
    true,
  ),
  scalingChart(
    [
      {
        title: 'GCP a3-mega, 8 × H100 SXM 80 GB, pytorch-fsdp,sharding=hybrid-shard, batch 32 per GPU, bf16',
        marks: [mark(1, 1), mark(8, 0.7)],
      },
      { title: 'below it', marks: [mark(1, 1), mark(8, 0.6)] },
    ],
    false,
  ),
];

describe.each(charts.map((chart) => [chart?.name ?? 'nothing was drawn', chart] as const))(
  '%s',
  (_, chart) => {
    const { svg = '', summary = '', title = '', table } = chart ?? {};

    it('has a title, a sentence and a table', () => {
      expect(svg).toMatch(
        /^<svg [^>]*role="img" aria-labelledby="([\w-]+)-title \1-summary">\n<title id="\1-title">/,
      );
      expect(title.length * summary.length).toBeGreaterThan(0);
      expect(summary).toMatch(/\.$/);
      expect(table?.rows.length).toBeGreaterThan(0);
      for (const row of table?.rows ?? []) expect(row).toHaveLength(table?.columns.length ?? 0);
    });

    it('keeps names as text, closes its elements and has no number that is none', () => {
      expect(svg).not.toMatch(/<script|alert\("|NaN|Infinity|undefined|null|-->/);
      const opened = [...svg.matchAll(/<([a-z]+)\b[^>]*?(\/?)>/g)].filter(
        ([, , closed]) => closed === '',
      ).length;
      expect(svg.match(/<\/[a-z]+>/g)).toHaveLength(opened);
    });

    it.each(['svg', 'narrow'] as const)('draws within its frame: %s', (kind) => {
      const drawing = chart?.[kind] ?? '';
      const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(drawing) ?? [];
      for (const [, name, value] of drawing.matchAll(/ (x|y|cx|cy|x1|y1|x2|y2)="([^"]+)"/g)) {
        const most = Number(name?.includes('x') ? width : height);
        expect(Number(value)).toBeGreaterThanOrEqual(0);
        expect(Number(value)).toBeLessThanOrEqual(most);
      }
    });

    it('has room for its words on a narrow page', () => {
      const drawing = chart?.narrow ?? '';
      const width = Number(/viewBox="0 0 (\d+)/.exec(drawing)?.[1]);
      for (const [, place, kind = '', text = ''] of drawing.matchAll(
        /<text x="([\d.]+)"[^>]*?(class="[^"]*")?>([^<]*)</g,
      )) {
        if (/middle|end/.test(kind) || text.includes('&#60;')) continue;
        expect(Number(place) + text.length * letterWidth, text).toBeLessThanOrEqual(width);
      }
    });

    it('is a file of its own with a style', () => {
      const file = chart === undefined ? '' : chartFile(chart);
      expect(file).toContain('xmlns="http://www.w3.org/2000/svg"');
      expect(file).toContain('--vscode-charts-blue');
    });
  },
);

it('what has nothing to show is not drawn', () => {
  expect(memoryChart({ moments: [], until: 1, capacity: null })).toBeUndefined();
  expect(icicleChart({ name: 'a', title: 'a', root: leaf('m', 0), textOf: String })).toBeUndefined();
  expect(rooflineChart({ gpu: 'g', what: 'fp32', peak: 1, bandwidth: 1, points: [] })).toBeUndefined();
  expect(scalingChart([{ title: '', marks: [mark(1, 1)] }], false)).toBeUndefined();
});

it.each([
  [0.7, /efficiency goes from 100 % to 70 %/],
  [0.9999, /efficiency stays at 100 %/],
])('says how the efficiency of %f goes', (last, expected) => {
  const chart = scalingChart([{ title: '', marks: [mark(1, 1), mark(8, last)] }], false);
  expect(chart?.summary).toMatch(expected);
});

describe('several scaling curves', () => {
  const ranged = (gpus: number, fits = true): ScalingMark => ({
    ...mark(gpus, 0.9),
    throughputRange: [gpus * 80, gpus * 120],
    fits,
  });
  const drawn = (titles: readonly string[], fits = true): string =>
    scalingChart(
      titles.map((title) => ({ title, marks: [ranged(1), ranged(8, fits)] })),
      false,
    )?.svg ?? '';

  it('have a band and a legend each, of a colour and a shape or dash of their own', () => {
    const svg = drawn(['a', 'b', 'c']);
    for (const [index, title] of ['a', 'b', 'c'].entries()) {
      expect(svg).toContain(`class="band band-${index}"`);
      expect(svg).toContain(`>${title}</text>`);
    }
    expect(svg).not.toContain('out of memory');
  });

  it('mark where memory forbids, in either shape, and say so', () => {
    const svg = drawn(['a', 'b'], false);
    expect(svg).toMatch(/<circle [^>]*class="none"/);
    expect(svg).toMatch(/<rect [^>]*class="point-1 none"/);
    expect(svg).toContain('>out of memory</text>');
  });

  it('are within the axis with their bands', () => {
    const [, top] = /class="band band-0" d="([^"]+)Z"/.exec(drawn(['a', 'b'])) ?? [];
    const heights = [...(top ?? '').matchAll(/(?:[ML][\d.]+ |V)([\d.]+)/g)].map((each) => Number(each[1]));
    expect(heights).toHaveLength(4);
    for (const y of heights) expect(y).toBeGreaterThanOrEqual(40);
    for (const y of heights) expect(y).toBeLessThanOrEqual(272);
  });
});

describe('merged segments', () => {
  const segments = fc
    .array(
      fc.tuple(
        fc.double({ min: 0, max: 0.05, noNaN: true }),
        fc.double({ min: 1e-6, max: 0.1, noNaN: true }),
        fc.constantFrom('forward', 'wait'),
      ),
      { maxLength: 200 },
    )
    .map((pieces) => {
      let time = 0;
      return pieces.map(([gap, length, kind], index) => {
        const start = time + gap;
        time = start + length;
        return { name: `${index}`, kind, start, end: time };
      });
    });

  it('do not overlap, lose no piece, and keep where the first begins and the last ends', () => {
    fc.assert(
      fc.property(segments, fc.double({ min: 1e-6, max: 0.2, noNaN: true }), (pieces, thin) => {
        const merged = mergeSegments(pieces, thin, 6 * thin);
        expect(merged.reduce((total, { count }) => total + count, 0)).toBe(pieces.length);
        expect([merged[0]?.start, merged.at(-1)?.end]).toEqual([pieces[0]?.start, pieces.at(-1)?.end]);
        for (const [index, { start }] of merged.entries())
          expect(start).toBeGreaterThanOrEqual(merged[index - 1]?.end ?? 0);
      }),
    );
  });

  it('nine thousand thin operators are a few hundred bars', () => {
    const many = Array.from({ length: 9000 }, (_, index) => ({
      name: `op${index}`,
      kind: index % 7 === 0 ? 'wait' : 'forward',
      start: index / 9000,
      end: (index + 1) / 9000,
    }));
    expect(mergeSegments(many, 1 / 950, 6 / 950).length).toBeLessThan(1000);
  });
});

describe('shares of the timeline', () => {
  const piece = (start: number, end: number) => ({ name: 'm', kind: 'message' as const, start, end });
  it.each([
    ['pieces at once count once', [piece(0, 0.6), piece(0.2, 0.5), piece(0.4, 1)], '100 %'],
    ['what lies beyond the drawn part does not count', [piece(-1, 0.25), piece(0.75, 3)], '50 %'],
  ])('%s', (_, segments, expected) => {
    const { table } = timelineChart({
      from: 0,
      until: 1,
      pieces: 'layers',
      note: '',
      lanes: [{ title: 'NCCL', segments }],
    });
    expect(table?.rows.map((row) => row[3])).toEqual([expected]);
  });
});

describe('names of points', () => {
  const within = { left: 0, top: 0, right: 200, bottom: 100 };
  const point = (x: number, y: number, name: string) => ({ x, y, radius: 6, name });
  const placed = (points: readonly NamedPoint[], taken: readonly Box[] = []) =>
    placeLabels(points, points, taken, within).map((text) => />([^<]+)</.exec(text)?.[1]);

  it.each<[string, readonly NamedPoint[], readonly Box[], readonly string[]]>([
    ['all, where there is room', [point(20, 20, 'a'), point(20, 60, 'b')], [], ['a', 'b']],
    // Below and above: 5 letters of 6.6 pixels do not fit between circles 30 pixels apart.
    ['beside a neighbour', [point(60, 50, 'first'), point(90, 50, 'other')], [], ['first', 'other']],
    ['none where all is taken', [point(20, 20, 'a')], [within], []],
    ['none that would leave the drawing', [point(100, 50, 'x'.repeat(31))], [], []],
  ])('%s', (_, points, taken, names) => expect(placed(points, taken)).toEqual(names));

  it('lie on no circle and on no other name', () => {
    const coordinate = (most: number) => fc.double({ min: 0, max: most, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(coordinate(200), coordinate(100)), { maxLength: 12 }), (places) => {
        const points = places.map(([x, y], index) => point(x, y, `name ${index}`));
        const texts = placeLabels(points, points, [], within);
        const boxes = texts.map((text) => {
          const [, x = '', y = ''] = /x="([^"]+)" y="([^"]+)"/.exec(text) ?? [];
          const room = (/>([^<]+)</.exec(text)?.[1]?.length ?? 0) * 6.6;
          const left = Number(x) - (text.includes('end ') ? room : text.includes('middle ') ? room / 2 : 0);
          return { left, right: left + room, middle: Number(y) - 4 };
        });
        for (const [index, box] of boxes.entries()) {
          for (const { x, y } of points)
            expect(x > box.left && x < box.right && Math.abs(y - box.middle) < 8 + 6 - 0.1).toBe(false);
          for (const other of boxes.slice(index + 1))
            expect(
              box.left < other.right - 0.2 &&
                other.left < box.right - 0.2 &&
                Math.abs(box.middle - other.middle) < 15.8,
            ).toBe(false);
        }
      }),
    );
  });
});

it('thinning moments keeps the largest', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 1e9 }), { minLength: 1, maxLength: 300 }), (sizes) => {
      const moments = sizes.map((size, index) => moment(index / sizes.length, size));
      const kept = thinned(moments, 0.1);
      expect(kept.length).toBeLessThanOrEqual(11);
      expect(Math.max(...kept.map(totalOf))).toBe(Math.max(...moments.map(totalOf)));
    }),
  );
});
