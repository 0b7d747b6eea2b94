/**
 * The script of a report's page: sorting, filtering, copying, details at the pointer; in an editor also following its
 * text and trying other scenarios. Plain browser JavaScript without markup of its own: what it shows is set as text.
 */

export const pageScript = `
'use strict';
(() => {
  const editor = typeof acquireVsCodeApi === 'function' ? acquireVsCodeApi() : undefined;
  const tip = document.getElementById('tip');
  const byId = (id) => document.getElementById(id);
  const rowsOf = (table) => [...table.tBodies[0].rows];
  let sorted = { column: -1, down: false };

  function sort(column, down) {
    sorted = { column, down };
    for (const table of document.querySelectorAll('table.layers')) {
      const key = (row) =>
        column < 2 ? row.cells[column].textContent : Number(row.dataset.values.split(' ')[amountAt(column)]);
      const rows = rowsOf(table);
      rows.forEach((row, index) => { row.dataset.order ??= String(index); });
      rows.sort((one, other) => {
        if (column < 0) return Number(one.dataset.order) - Number(other.dataset.order);
        const [a, b] = [key(one), key(other)];
        const order = typeof a === 'string' ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
        return (down ? -order : order) || Number(one.dataset.order) - Number(other.dataset.order);
      });
      table.tBodies[0].append(...rows);
      for (const head of table.querySelectorAll('th[data-column]')) {
        const is = Number(head.dataset.column) === column;
        head.setAttribute('aria-sort', is ? (down ? 'descending' : 'ascending') : 'none');
        head.textContent = head.textContent.replace(/ [▲▼]$/, '') + (is ? (down ? ' ▼' : ' ▲') : '');
      }
    }
  }
  const amountAt = (column) => (column < 6 ? column - 2 : column - 3);

  function filter(text) {
    const wanted = text.trim().toLowerCase();
    for (const row of document.querySelectorAll('table.layers tbody tr'))
      row.hidden = wanted !== '' && !row.cells[0].textContent.toLowerCase().includes(wanted);
  }

  function mark(layer, scroll) {
    for (const each of document.querySelectorAll('.here')) each.classList.remove('here');
    if (layer === '') return;
    for (const each of document.querySelectorAll('[data-layer]'))
      if (each.dataset.layer === layer) each.classList.add('here');
    const details = byId('each');
    const row = [...document.querySelectorAll('table.layers tr.here')].find((each) => !details?.contains(each) || details.open);
    if (scroll && row) row.scrollIntoView({ block: 'nearest' });
  }

  function chooseLayer(element) {
    const layer = element.dataset.layer;
    if (editor) editor.postMessage({ kind: 'open', layer });
    mark(layer, !editor && !element.closest('table'));
  }

  function csv() {
    const table = byId('layers') ?? byId('folded');
    const cell = (text) => (/[",\\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
    const line = (row) => [...row.cells].filter((each) => !each.classList.contains('bar')).map((each) => cell(each.textContent.trim())).join(',');
    return [...table.rows].map(line).join('\\n');
  }

  function prepare() {
    document.body.classList.add('scripted');
    for (const head of document.querySelectorAll('th[data-column]')) {
      head.tabIndex = 0;
      head.setAttribute('role', 'button');
    }
  }

  document.addEventListener('click', (event) => {
    const head = event.target.closest('th[data-column]');
    if (head) {
      const column = Number(head.dataset.column);
      const again = sorted.column === column;
      const first = column >= 2;
      if (again && sorted.down !== first) sort(-1, false);
      else sort(column, again ? !sorted.down : first);
      return;
    }
    if (event.target.id === 'copy') {
      navigator.clipboard.writeText(csv()).then(() => { event.target.textContent = 'Copied'; }, () => { event.target.textContent = 'The browser forbids copying'; });
      return;
    }
    const element = event.target.closest('[data-layer]');
    if (element && getSelection().isCollapsed) chooseLayer(element);
  });
  document.addEventListener('keydown', (event) => {
    if ((event.key === 'Enter' || event.key === ' ') && event.target.matches?.('th[data-column]')) {
      event.preventDefault();
      event.target.click();
    }
  });
  document.addEventListener('input', (event) => {
    if (event.target.id === 'filter') filter(event.target.value);
  });
  document.addEventListener('mousemove', (event) => {
    const title = event.target.closest?.('.chart [data-layer], .chart rect, .chart circle')?.querySelector('title');
    tip.hidden = !title;
    if (!title) return;
    tip.textContent = title.textContent;
    const right = event.clientX > innerWidth / 2;
    tip.style.left = right ? '' : event.clientX + 14 + 'px';
    tip.style.right = right ? innerWidth - event.clientX + 14 + 'px' : '';
    tip.style.top = Math.min(event.clientY + 16, innerHeight - 60) + 'px';
  });

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
    const tiles = rows.map(({ name, value, detail }) => {
      const tile = document.createElement('div');
      const [term, text, bold, small] = ['dt', 'dd', 'b', 'span'].map((each) => document.createElement(each));
      term.textContent = name;
      bold.textContent = value;
      small.textContent = detail;
      text.append(bold, small);
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

  /** The page of the changed model in the place of this one: what the reader chose stays. */
  function replace(html) {
    const next = new DOMParser().parseFromString(html, 'text/html').querySelector('main');
    if (!next) return;
    const place = scrollY;
    const text = byId('filter')?.value ?? '';
    const chosen = document.querySelector('#modules input:checked')?.id;
    const open = [...document.querySelectorAll('details')].map((each) => each.open);
    const here = document.querySelector('.here')?.dataset.layer ?? '';
    const focused = document.activeElement?.closest?.('#what-if') ? document.activeElement.name : undefined;
    document.querySelector('main').replaceWith(document.adoptNode(next));
    prepare();
    if (chosen && byId(chosen)) byId(chosen).checked = true;
    [...document.querySelectorAll('details')].forEach((each, index) => { each.open = open[index] ?? false; });
    if (byId('filter')) byId('filter').value = text;
    filter(text);
    if (sorted.column >= 0) sort(sorted.column, sorted.down);
    mark(here, false);
    if (focused) byId('what-if')?.elements[focused]?.focus({ preventScroll: true });
    scrollTo(0, place);
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
