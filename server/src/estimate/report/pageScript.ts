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
  /** Rows of a page that came later, as text: reading thousands takes longer than a frame, so that those below wait. */
  const waiting = new WeakMap();
  const rowsOf = (table) => [...table.tBodies[0].rows];
  /** The first rows, and so many more as are wanted. */
  function readRows(table, wanted = Infinity) {
    const texts = waiting.get(table) ?? [];
    const count = Math.min(texts.length, wanted - table.tBodies[0].rows.length);
    if (count <= 0) return;
    const text = '<table><tbody>' + texts.splice(0, count).join('');
    const rows = [...new DOMParser().parseFromString(text, 'text/html').querySelectorAll('tr')];
    for (const row of rows) {
      row.tabIndex = -1;
      row.classList.toggle('here', row.dataset.layer === marked);
    }
    table.tBodies[0].append(...rows);
  }
  const layerTables = () => [...document.querySelectorAll('table.layers')];
  let sorted = { column: -1, down: false };
  let marked = '';

  function sort(column, down) {
    sorted = { column, down };
    for (const table of layerTables()) {
      readRows(table);
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
      rows.forEach((row) => row.classList.add('later'));
      table.tBodies[0].append(...rows);
      table.dataset.shown = atOnce;
      showRows(table);
      for (const head of table.querySelectorAll('th[data-column]')) {
        const is = Number(head.dataset.column) === column;
        head.setAttribute('aria-sort', is ? (down ? 'descending' : 'ascending') : 'none');
      }
    }
  }
  /** Layout of thousands of rows takes longer than a frame: those below are drawn when the reader comes to them. */
  const atOnce = 150;
  function showRows(table, more = 0) {
    const shown = Number(table.dataset.shown ?? atOnce) + more;
    table.dataset.shown = shown;
    readRows(table, shown);
    const rows = rowsOf(table).filter((row) => !row.hidden);
    rows.forEach((row, index) => row.classList.toggle('later', index >= shown));
    const end = table.nextElementSibling;
    if (end?.className === 'more') end.hidden = rows.length <= shown && !waiting.get(table)?.length;
  }
  const comes = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) showRows(target.previousElementSibling, atOnce);
  }, { rootMargin: '600px' });
  function reveal(row) {
    const table = row.closest('table');
    if (!row.classList.contains('later')) return;
    const place = rowsOf(table).filter((each) => !each.hidden).indexOf(row);
    showRows(table, place + atOnce - Number(table.dataset.shown));
  }
  const amountAt = (column) => (column < 6 ? column - 2 : column - 3);

  function filter(text) {
    const wanted = text.trim().toLowerCase();
    if (wanted !== '') layerTables().forEach((table) => readRows(table));
    for (const row of document.querySelectorAll('table.layers tbody tr'))
      row.hidden = wanted !== '' && !row.cells[0].textContent.toLowerCase().includes(wanted);
    for (const table of layerTables()) {
      const shown = rowsOf(table).filter((row) => !row.hidden);
      if (shown[0] && !shown.some((row) => row.tabIndex === 0)) shown[0].tabIndex = 0;
      table.dataset.shown = atOnce;
      showRows(table);
    }
  }

  function mark(layer, scroll) {
    for (const each of document.querySelectorAll('.here')) each.classList.remove('here');
    marked = layer;
    if (layer === '') return;
    if (scroll) layerTables().forEach((table) => readRows(table));
    for (const each of document.querySelectorAll('[data-layer]'))
      if (each.dataset.layer === layer) each.classList.add('here');
    const details = byId('each');
    const row = [...document.querySelectorAll('table.layers tr.here')].find((each) => !details?.contains(each) || details.open);
    if (scroll && row) {
      reveal(row);
      row.scrollIntoView({ block: 'nearest' });
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
      return cellsOf(byId('layers')).map((row) => row.map(cell).join(',')).join('\\n');
    },
    markdown: () => {
      const table = layerTables().find((each) => each.offsetParent !== null) ?? byId('layers');
      const line = (row) => '| ' + row.map((text) => text.replaceAll('|', '\\\\|')).join(' | ') + ' |';
      const [head, ...rows] = cellsOf(table, true);
      return [line(head), line(head.map((_, index) => (index < 2 ? '---' : '---:'))), ...rows.map(line)].join('\\n');
    },
  };
  function cellsOf(table, shown = false) {
    readRows(table);
    return [...table.rows]
      .filter((row) => !shown || !row.hidden)
      .map((row) => [...row.cells].filter((each) => !each.classList.contains('bar')).map((each) => each.textContent.trim()));
  }

  /** The drawing of a chart in the colours of the page, twice as large, on its ground. */
  function savePicture(chart) {
    const name = chart.classList[1] + '.png';
    const { width, height } = chart.viewBox.baseVal;
    const copy = chart.cloneNode(true);
    copy.setAttribute('width', width);
    copy.setAttribute('height', height);
    const colours = getComputedStyle(document.documentElement);
    const style = document.createElementNS(chart.namespaceURI, 'style');
    const set = ['blue', 'purple', 'green', 'orange', 'red', 'yellow', 'grey', 'text', 'quiet', 'ground', 'outline']
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
  function prepare() {
    document.body.classList.add('scripted');
    for (const head of document.querySelectorAll('th[data-column]'))
      head.replaceChildren(buttonOf(head.textContent, () => chooseColumn(Number(head.dataset.column))));
    for (const table of layerTables()) {
      rowsOf(table).forEach((row, index) => { row.tabIndex = index === 0 ? 0 : -1; });
      const end = buttonOf('More rows', () => showRows(table, atOnce));
      end.className = 'more';
      table.after(end);
      showRows(table);
      comes.observe(end);
    }
    for (const chart of document.querySelectorAll('svg.chart')) {
      if (marksOf(chart).length > 0) chart.setAttribute('tabindex', '0');
      if (chart.classList.contains('narrow')) continue;
      const save = buttonOf('Save as PNG', () => savePicture(chart));
      save.className = 'save';
      save.setAttribute('aria-label', 'Save as PNG: ' + chart.querySelector('title').textContent);
      chart.after(save);
    }
  }

  function chooseColumn(column) {
    const again = sorted.column === column;
    const first = column >= 2;
    if (again && sorted.down !== first) sort(-1, false);
    else sort(column, again ? !sorted.down : first);
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
    if (!row.nextElementSibling) readRows(table, table.tBodies[0].rows.length + 1);
    const rows = rowsOf(table).filter((each) => !each.hidden);
    const next = rows[rows.indexOf(row) + (event.key === 'ArrowDown' ? 1 : -1)];
    if (!next) return;
    row.tabIndex = -1;
    next.tabIndex = 0;
    reveal(next);
    next.focus();
  });
  document.addEventListener('input', (event) => {
    if (event.target.id === 'filter') filter(event.target.value);
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

  /** The page of the changed model in the place of this one: what the reader chose stays. */
  function replace(html) {
    const late = new Map();
    // A name has no '<' of its own: such a line begins a row.
    const first = html.replace(/(<table id="(\\w+)" class="layers">[^]*?<tbody>\\n)([^]*?)(?=\\n<\\/table>)/g, (_, head, id, body) => {
      const rows = body.split('\\n<tr data-layer=').map((text, index) => (index === 0 ? text : '<tr data-layer=' + text));
      late.set(id, rows.splice(atOnce));
      return head + rows.join('');
    });
    const next = new DOMParser().parseFromString(first, 'text/html').querySelector('main');
    if (!next) return;
    for (const table of next.querySelectorAll('table.layers')) waiting.set(table, late.get(table.id) ?? []);
    const place = scrollY;
    const text = byId('filter')?.value ?? '';
    const chosen = document.querySelector('#modules input:checked')?.id;
    const open = [...document.querySelectorAll('details')].map((each) => each.open);
    const here = marked;
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
