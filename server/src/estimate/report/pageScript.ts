/**
 * The script of a report's page: sorting, filtering, copying, details at the pointer; in an editor also following its
 * text and trying other scenarios. Plain browser JavaScript without markup of its own: what it shows is set as text.
 */

import { layerRowsScript } from './layerRowsScript.ts';

export const pageScript = `
'use strict';
(() => {
  const editor = typeof acquireVsCodeApi === 'function' ? acquireVsCodeApi() : undefined;
  const tip = document.getElementById('tip');
  const byId = (id) => document.getElementById(id);
${layerRowsScript}
  function mark(layer, scroll) {
    for (const each of document.querySelectorAll('.here')) each.classList.remove('here');
    marked = layer;
    if (layer === '') return;
    for (const each of document.querySelectorAll('[data-layer]'))
      if (each.dataset.layer === layer) each.classList.add('here');
    if (!scroll) return;
    const details = byId('each');
    for (const table of layerTables()) {
      if (details?.contains(table) && !details.open) continue;
      const index = states.get(table).wanted.findIndex((each) => attribute(each, 'layer') === layer);
      if (index >= 0) return reveal(table, index).scrollIntoView({ block: 'nearest' });
    }
  }

  function chooseLayer(element) {
    const layer = element.dataset.layer;
    if (editor) editor.postMessage({ kind: 'open', layer });
    mark(layer, !editor && !element.closest('table'));
  }

  /** All layers as comma-separated values; as Markdown the rows that are in view. */
  const formats = {
    csv: () => {
      const cell = (text) => (/[",\\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
      return textsOf(byId('layers'), { wanted: false }).map((row) => row.map(cell).join(',')).join('\\n');
    },
    markdown: () => {
      const table = layerTables().find((each) => each.offsetParent !== null) ?? byId('layers');
      const line = (row) => '| ' + row.map((text) => text.replaceAll('|', '\\\\|')).join(' | ') + ' |';
      const [head, ...rows] = textsOf(table, { wanted: true });
      return [line(head), line(head.map((_, index) => (index < 2 ? '---' : '---:'))), ...rows.map(line)].join('\\n');
    },
  };

  /** The drawing of a chart in the colours of the page, twice as large, on its ground. */
  function savePicture(chart) {
    const name = chart.classList[1] + '.png';
    const { width, height } = chart.viewBox.baseVal;
    const copy = chart.cloneNode(true);
    copy.setAttribute('width', width);
    copy.setAttribute('height', height);
    const colours = getComputedStyle(document.documentElement);
    const style = document.createElementNS(chart.namespaceURI, 'style');
    const set = ['blue', 'purple', 'green', 'orange', 'red', 'cyan', 'grey', 'text', 'quiet', 'ground', 'outline']
      .map((each) => '--' + each + ':' + colours.getPropertyValue('--' + each) + ';')
      .join('');
    style.textContent = document.querySelector('style').textContent + ':root{' + set + '}';
    copy.prepend(style);
    const picture = new Image();
    picture.addEventListener('load', () => {
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [2 * width, 2 * height];
      const context = canvas.getContext('2d');
      context.fillStyle = colours.getPropertyValue('--ground');
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(picture, 0, 0, canvas.width, canvas.height);
      const address = canvas.toDataURL('image/png');
      if (editor) return editor.postMessage({ kind: 'save', name, data: address.split(',')[1] });
      const link = document.createElement('a');
      link.href = address;
      link.download = name;
      link.click();
    });
    picture.src = 'data:image/svg+xml,' + encodeURIComponent(new XMLSerializer().serializeToString(copy));
  }

  function buttonOf(text, act) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = text;
    button.addEventListener('click', act);
    return button;
  }

  /** Heads sort, charts can be saved, and the arrows go along the rows, of which one takes the focus. */
  function prepare(texts) {
    document.body.classList.add('scripted');
    for (const head of document.querySelectorAll('th[data-column]'))
      head.replaceChildren(buttonOf(head.textContent, () => chooseColumn(Number(head.dataset.column))));
    for (const table of layerTables()) take(table, texts?.get(table.id));
    for (const chart of document.querySelectorAll('svg.chart')) {
      if (chart.querySelector(':is(rect, circle) > title')) chart.setAttribute('tabindex', '0');
      if (chart.classList.contains('narrow')) continue;
      const save = buttonOf('Save as PNG', () => savePicture(chart));
      save.className = 'save';
      save.setAttribute('aria-label', 'Save as PNG: ' + chart.querySelector('title').textContent);
      // Below what is shown: the drawing for a narrow page follows the one for a wide page.
      (chart.parentElement.matches('.either') ? chart.parentElement : chart).after(save);
    }
  }

  document.addEventListener('click', (event) => {
    const format = formats[event.target.dataset?.copy];
    if (format) {
      navigator.clipboard.writeText(format()).then(() => { event.target.textContent = 'Copied'; }, () => { event.target.textContent = 'The browser forbids copying'; });
      return;
    }
    const element = event.target.closest('[data-layer]');
    if (element && getSelection().isCollapsed) chooseLayer(element);
  });
  /** Arrows go along the marks of a chart that has the focus: each says what it is, and Enter goes to its layer. */
  const marksOf = (chart) => [...chart.querySelectorAll('rect, circle')].filter((each) => each.querySelector('title'));
  function alongChart(chart, event) {
    const marks = marksOf(chart);
    const now = marks.findIndex((each) => each.classList.contains('now'));
    if (event.key === 'Enter' && marks[now]?.dataset.layer) chooseLayer(marks[now]);
    const next = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: marks.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const mark = marks[Math.max(0, Math.min(marks.length - 1, next))];
    marks[now]?.classList.remove('now');
    if (!mark) return;
    mark.classList.add('now');
    const { left, bottom } = mark.getBoundingClientRect();
    showTip(mark.querySelector('title').textContent, left, bottom);
  }
  document.addEventListener('focusout', ({ target }) => {
    if (!target.matches?.('svg.chart')) return;
    for (const each of target.querySelectorAll('.now')) each.classList.remove('now');
    tip.hidden = true;
  });
  document.addEventListener('keydown', (event) => {
    if (event.target.matches?.('svg.chart')) return alongChart(event.target, event);
    const row = event.target.matches?.('tr[data-layer]') ? event.target : undefined;
    if (!row) return;
    if (event.key === 'Enter') chooseLayer(row);
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    const table = row.closest('table');
    const { wanted } = states.get(table);
    const index = wanted.findIndex((each) => each.row === row) + (event.key === 'ArrowDown' ? 1 : -1);
    if (!wanted[index]) return;
    const next = reveal(table, index);
    row.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  document.addEventListener('input', (event) => {
    if (event.target.id === 'filter') layerTables().forEach(arrange);
  });
  document.addEventListener('mousemove', (event) => {
    const title = event.target.closest?.('.chart [data-layer], .chart rect, .chart circle')?.querySelector('title');
    if (title) showTip(title.textContent, event.clientX + 14, event.clientY + 16);
    else if (!document.activeElement?.querySelector?.('.now')) tip.hidden = true;
  });
  function showTip(text, x, y) {
    tip.hidden = false;
    tip.textContent = text;
    const right = x > innerWidth / 2;
    tip.style.left = right ? '' : x + 'px';
    tip.style.right = right ? innerWidth - x + 28 + 'px' : '';
    tip.style.top = Math.min(y, innerHeight - 60) + 'px';
  }

  /** Keys whose control differs from the scenario that is written, as a change of it. */
  function changeOf(form) {
    const change = {};
    for (const control of form.querySelectorAll('[data-written]')) {
      const value = valueOf(control);
      if (value !== control.dataset.written) change[control.name] = control.dataset.values ? Number(value) : value;
    }
    return change;
  }
  const valueOf = (control) =>
    control.dataset.values ? control.dataset.values.split(' ')[Number(control.value)] : control.value;

  /** Costs what the controls say: the totals at once, the whole page when the hand rests. */
  function trying(form, whole) {
    editor.postMessage({ kind: 'try', change: changeOf(form), whole });
  }

  function showGlance({ rows, sentence, refusal }) {
    const state = byId('tried-state');
    if (refusal) {
      if (state) state.textContent = refusal;
      return;
    }
    const tiles = rows.map(({ name, value, detail, mark }) => {
      const tile = document.createElement('div');
      const [term, text, bold, strong, small] = ['dt', 'dd', 'b', 'strong', 'span'].map((each) => document.createElement(each));
      term.textContent = name;
      bold.textContent = value;
      small.textContent = detail;
      text.append(bold, small);
      if (mark) {
        tile.className = mark.severity;
        strong.textContent = mark.text;
        bold.after(strong);
      }
      tile.append(term, text);
      return tile;
    });
    document.querySelector('dl.glance')?.replaceChildren(...tiles);
    const limit = document.querySelector('.limit-text');
    if (limit) limit.textContent = sentence;
    if (state) state.textContent = 'Tried, not written anywhere.';
  }

  /** What was tried, newest last, each to go back to; the one with the most throughput that fits is marked. */
  function listTried(entry) {
    if (entry && !tried.some(({ label }) => label === entry.label)) tried.push(entry);
    while (tried.length > 8) tried.splice(tried.indexOf(tried.find((each) => each !== bestOf())), 1);
    const list = byId('tried');
    if (!list || tried.length < 2) return;
    const best = bestOf();
    list.replaceChildren(
      ...tried.map((each) => {
        const item = document.createElement('li');
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = each.label;
        button.addEventListener('click', () => goBackTo(each.values));
        item.append(button, ' ' + each.result + (each === best ? ', the fastest that fits' : ''));
        return item;
      }),
    );
    editor?.setState({ tried });
  }
  const bestOf = () =>
    tried.filter(({ fits, throughput }) => fits && throughput !== null).sort((one, other) => other.throughput - one.throughput)[0];

  function goBackTo(values) {
    const form = byId('what-if');
    const change = {};
    for (const control of form.querySelectorAll('[data-written]')) {
      const value = values[control.name];
      if (value !== undefined && value !== control.dataset.written)
        change[control.name] = control.dataset.values ? Number(value) : value;
    }
    editor.postMessage({ kind: 'try', change, whole: true });
  }
  const tried = editor?.getState()?.tried ?? [];

  for (const [kind, whole] of [['input', false], ['change', true]])
    document.addEventListener(kind, (event) => {
      const form = event.target.closest?.('#what-if');
      // A name that is half typed is none.
      if (!form || !editor || (!whole && event.target.type === 'text')) return;
      if (event.target.dataset.values) {
        event.target.nextElementSibling.textContent = valueOf(event.target);
        event.target.setAttribute('aria-valuetext', valueOf(event.target));
      }
      trying(form, whole);
    });
  document.addEventListener('submit', (event) => event.preventDefault());
  document.addEventListener('click', (event) => {
    if (!editor) return;
    if (event.target.id === 'keep') editor.postMessage({ kind: 'keep', change: changeOf(byId('what-if')) });
    if (event.target.id === 'back') editor.postMessage({ kind: 'try', change: {}, whole: true });
  });

  /** Where the reader is: the row at the top of what is in view, or how far the page is scrolled. */
  function readersPlace() {
    const row = document.elementFromPoint(innerWidth / 2, innerHeight / 4)?.closest('tr[data-layer]');
    const table = row?.closest('table');
    const index = table ? states.get(table).wanted.findIndex((each) => each.row === row) : -1;
    const [y, top] = [scrollY, row?.getBoundingClientRect().top];
    return () => {
      const now = index >= 0 ? byId(table.id) : null;
      if (!now || !states.get(now).wanted[index]) return scrollTo(0, y);
      scrollBy(0, reveal(now, index).getBoundingClientRect().top - top);
    };
  }

  /** The page of the changed model in the place of this one: what the reader chose stays. */
  function replace(html) {
    const rows = new Map();
    const from = html.indexOf('<main>');
    let [text, at] = ['', from];
    for (const { 1: id, index } of html.matchAll(/<table id="(\\w+)" class="layers">/g)) {
      const start = html.indexOf('<tbody>\\n', index) + 8;
      const end = html.indexOf('\\n</table>', start);
      // A name has no '<' of its own: such a line begins a row.
      rows.set(id, html.slice(start, end).split(/\\n(?=<tr data-layer=)/));
      text += html.slice(at, start);
      at = end;
    }
    text += html.slice(at, html.indexOf('</main>', at));
    const next = new DOMParser().parseFromString(text, 'text/html').querySelector('main');
    if (from < 0 || !next) return;
    const goBack = readersPlace();
    const filter = byId('filter')?.value ?? '';
    const chosen = document.querySelector('#modules input:checked')?.id;
    const open = [...document.querySelectorAll('details')].map((each) => each.open);
    const here = marked;
    const focused = document.activeElement?.closest?.('#what-if') ? document.activeElement.name : undefined;
    // What is out of view is not laid out: it takes the room of what was there.
    const boxes = (of) => of.querySelectorAll('figure, .rows');
    const before = boxes(document);
    boxes(next).forEach((box, index) => {
      const height = before[index]?.offsetHeight;
      if (height) box.style.containIntrinsicHeight = 'auto ' + height + 'px';
    });
    document.querySelector('main').replaceWith(document.adoptNode(next));
    if (chosen && byId(chosen)) byId(chosen).checked = true;
    [...document.querySelectorAll('details')].forEach((each, index) => { each.open = open[index] ?? false; });
    if (byId('filter')) byId('filter').value = filter;
    prepare(rows);
    mark(here, false);
    if (focused) byId('what-if')?.elements[focused]?.focus({ preventScroll: true });
    goBack();
  }

  if (editor)
    addEventListener('message', ({ data }) => {
      if (data?.kind === 'page') {
        replace(data.html);
        listTried(data.tried);
      } else if (data?.kind === 'tried') showGlance(data);
      else if (data?.kind === 'first') listTried(data.tried);
      else if (data?.kind === 'mark') mark(data.layer, true);
    });
  prepare();
  if (editor) editor.postMessage({ kind: 'ready' });
})();
`;
