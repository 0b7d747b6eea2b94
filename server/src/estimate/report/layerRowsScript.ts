/**
 * The part of a page's script that shows the rows of layer tables. Layout of thousands of rows takes longer than a frame,
 * so only those near the reader are laid out; sorting and filtering reorder plain values.
 */

export const layerRowsScript = `
  const layerTables = () => [...document.querySelectorAll('table.layers')];
  /** Rows that are laid out at once, and added when the reader comes to the first or the last of them. */
  const atOnce = 60;
  /**
   * Of each table all rows, those that are wanted in their order, and which of them are laid out. A row is an element or,
   * of a page that came later, the text of one until it is shown.
   */
  const states = new WeakMap();
  const plain = (text) => text.replace(/<[^>]*>/g, '').replace(/&#(\\d+);/g, (_, code) => String.fromCharCode(code));
  const attribute = (entry, name) =>
    entry.row ? entry.row.dataset[name] : plain(new RegExp('data-' + name + '="([^"]*)"').exec(entry.text)?.[1] ?? '');
  const cells = (entry) =>
    (entry.cells ??= entry.row
      ? [...entry.row.cells].map((each) => each.textContent.trim())
      : entry.text.split('<td').slice(1).map((each) => plain('<td' + each).trim()));
  const values = (entry) => (entry.values ??= attribute(entry, 'values').split(' ').map(Number));
  const amountAt = (column) => (column < 6 ? column - 2 : column - 3);
  let sorted = { column: -1, down: false };
  let marked = '';

  function rowsOf(entries) {
    const missing = entries.filter(({ row }) => !row);
    if (missing.length > 0) {
      const text = '<table><tbody>' + missing.map((each) => each.text).join('');
      [...new DOMParser().parseFromString(text, 'text/html').querySelectorAll('tr')].forEach((row, index) => {
        row.classList.toggle('here', row.dataset.layer === marked);
        missing[index].row = row;
      });
    }
    return entries.map(({ row }) => row);
  }

  /** Lays out the rows of a table from one place to another of those that are wanted. */
  function show(table, from, to) {
    const state = states.get(table);
    state.from = Math.max(0, from);
    state.to = Math.min(state.wanted.length, to);
    const rows = rowsOf(state.wanted.slice(state.from, state.to));
    const kept = new Set(rows);
    for (const row of state.shown) {
      if (kept.has(row)) continue;
      row.classList.add('later');
      if (row.tabIndex === 0) row.tabIndex = -1;
    }
    let next = table.tBodies[0].firstElementChild;
    for (const row of rows) {
      row.classList.remove('later');
      if (!row.hasAttribute('tabindex')) row.tabIndex = -1;
      if (row === next) next = next.nextElementSibling;
      else table.tBodies[0].insertBefore(row, next);
    }
    if (rows[0] && !rows.some((row) => row.tabIndex === 0)) rows[0].tabIndex = 0;
    state.shown = rows;
    state.before.hidden = state.from === 0;
    state.after.hidden = state.to === state.wanted.length;
  }
  const showEarlier = (table) => show(table, states.get(table).from - atOnce, states.get(table).to);
  const showLater = (table) => show(table, states.get(table).from, states.get(table).to + atOnce);
  const comes = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      target.click();
      // Rows may not have moved it out of reach: it is looked at again.
      comes.unobserve(target);
      comes.observe(target);
    }
  }, { rootMargin: '600px' });

  /** Row \`index\` of the wanted ones: one that is far from those that are laid out takes their place. */
  function reveal(table, index) {
    const { from, to } = states.get(table);
    if (index === to) showLater(table);
    else if (index === from - 1) showEarlier(table);
    else if (index < from || index > to) show(table, index - atOnce / 2, index + atOnce / 2);
    return rowsOf([states.get(table).wanted[index]])[0];
  }

  /** Takes the rows of a table: those in the page, or texts of rows. */
  function take(table, texts) {
    const all = texts?.map((text) => ({ text })) ?? [...table.tBodies[0].rows].map((row) => ({ row }));
    const state = { all, wanted: all, from: 0, to: 0, shown: rowsOf(texts ? [] : all) };
    for (const [place, name, act] of [['before', 'Earlier rows', showEarlier], ['after', 'More rows', showLater]]) {
      state[place] = buttonOf(name, () => act(table));
      state[place].className = 'more';
      table[place](state[place]);
    }
    states.set(table, state);
    arrange(table);
    comes.observe(state.before);
    comes.observe(state.after);
  }

  const collator = new Intl.Collator(undefined, { numeric: true });
  /** Those that the filter leaves, in the order that was chosen. */
  function arrange(table) {
    const state = states.get(table);
    const text = (byId('filter')?.value ?? '').trim().toLowerCase();
    state.wanted = text === '' ? state.all : state.all.filter((each) => cells(each)[0].toLowerCase().includes(text));
    const { column, down } = sorted;
    if (column >= 0) {
      const key = (entry) => (column < 2 ? cells(entry)[column] : values(entry)[amountAt(column)]);
      const keyed = state.wanted.map((entry, index) => ({ entry, index, key: key(entry) }));
      keyed.sort((one, other) => {
        const order = column < 2 ? collator.compare(one.key, other.key) : one.key - other.key;
        return (down ? -order : order) || one.index - other.index;
      });
      state.wanted = keyed.map(({ entry }) => entry);
    }
    for (const head of table.querySelectorAll('th[data-column]'))
      head.setAttribute('aria-sort', Number(head.dataset.column) !== column ? 'none' : down ? 'descending' : 'ascending');
    show(table, 0, atOnce);
  }

  function chooseColumn(column) {
    const again = sorted.column === column;
    const first = column >= 2;
    sorted = again && sorted.down !== first ? { column: -1, down: false } : { column, down: again ? !sorted.down : first };
    layerTables().forEach(arrange);
  }

  /** Paper takes all rows. */
  addEventListener('beforeprint', () => layerTables().forEach((table) => {
    const state = states.get(table);
    state.onScreen = [state.from, state.to];
    show(table, 0, Infinity);
  }));
  addEventListener('afterprint', () => layerTables().forEach((table) => show(table, ...states.get(table).onScreen)));

  /** Heads, and rows that the filter leaves or all of them, as texts. */
  function textsOf(table, { wanted }) {
    const heads = [...table.tHead.rows[0].cells];
    const rows = states.get(table)[wanted ? 'wanted' : 'all'].map(cells);
    return [heads.map((each) => each.textContent.trim()), ...rows].map((row) =>
      row.filter((_, index) => !heads[index].classList.contains('bar')));
  }
`;
