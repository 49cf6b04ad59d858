// Makes elements of the page. Text is never parsed as markup.

export const byId = (id) => document.getElementById(id);

/** Listens to an event of an element. An async listener must report its own errors. */
export const on = (id, event, run) => byId(id).addEventListener(event, (happened) => void run(happened));

/** Runs a function when a form is submitted, instead of letting the browser send the form. */
export const onSubmit = (id, run) =>
  on(id, 'submit', (event) => {
    event.preventDefault();
    void run();
  });

/** Makes an element from `tag.class.class`, optional attributes and children. Children that are false or undefined are left out. */
export function el(selector, ...parts) {
  const [tag, ...classes] = selector.split('.');
  const node = document.createElement(tag);
  if (classes.length > 0) node.className = classes.join(' ');
  const attributes = parts[0]?.constructor === Object ? parts.shift() : {};
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...parts.filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

export function svg(tag, props, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const icon = (name) => svg('svg', { class: 'i', 'aria-hidden': 'true' }, svg('use', { href: `#i-${name}` }));
export const chip = (tone, glyph, ...words) => el('span', { class: `chip ${tone}` }, icon(glyph), ...words);
export const tag = (text) => el('span.tag', text);
export const mono = (text) => el('span.mono.any.muted', text);
export const option = (value, text = value) => el('option', { value }, text);
export const options = (values) => values.map((value) => option(value));

export function button(text, act, run, more = {}) {
  const node = el('button', { type: 'button', 'data-act': act, ...more }, text);
  node.addEventListener('click', (event) => void run(event));
  return node;
}

/**
 * Updates the children of a container to match a list of rows `{key, from, make, update?}`. A child stays, and keeps the focus, while the
 * values in `from` of its row are the same. When they change, `update` changes the child; without `update`, `make` makes a new child.
 */
export function patch(container, rows) {
  const focused = container.contains(document.activeElement) ? document.activeElement : undefined;
  const place = focused && placeOf(focused);
  const before = new Map([...container.children].map((node) => [node.dataset.key, node]));
  const nodes = rows.map(({ key, from, make, update }) => {
    const [old, sig] = [before.get(key), JSON.stringify(from)];
    if (old?.sig === sig) return old;
    const node = update && old ? old : make(...from);
    update?.(node, ...from);
    node.dataset.key = key;
    return Object.assign(node, { sig });
  });
  for (const node of before.values()) if (!nodes.includes(node)) node.remove();
  for (const [n, node] of nodes.entries()) {
    if (container.children[n] !== node) container.insertBefore(node, container.children[n] ?? null);
  }
  if (place?.act !== undefined && document.activeElement !== focused) focusAt(container, place);
}

/** Describes where a control is in the page, so that the control can be found again after a redraw. */
const placeOf = (node) => ({ key: node.closest('[data-key]')?.dataset.key, act: node.dataset.act });

function focusAt(container, { key, act }) {
  const inside = [...container.querySelectorAll('[data-act]')].filter((node) => node.dataset.act === act);
  inside.find((node) => placeOf(node).key === key)?.focus({ preventScroll: true });
}

/** Updates a short list of items with ids; an empty list shows the text `none`. */
export function patchList(id, items, make, none) {
  const rows = items.map((item) => ({ key: item.id, from: [item], make }));
  const nothing = { key: '-', from: [none], make: (text) => el('li.muted.small', text) };
  patch(byId(id), rows.length > 0 ? rows : [nothing]);
}

let saying;
let saidAt = 0;

/** Shows a message for a few seconds. Messages within one second are shown together. */
export function say(text) {
  const before = Date.now() - saidAt < 1000 ? byId('said').textContent : '';
  byId('said').textContent = before && before.length < 200 ? `${before}. ${text}` : text;
  saidAt = Date.now();
  clearTimeout(saying);
  saying = setTimeout(() => (byId('said').textContent = ''), 6000);
}

let opener;

/** Makes a button that opens a menu of actions for a row. When the menu opens, `items` returns `[text, run]` for each entry. */
export function menuButton(about, items) {
  const title = `Actions for ${about}`;
  const open = (event) => openMenu(event.currentTarget, title, items());
  const more = { class: 'quiet more', 'aria-haspopup': 'menu', 'aria-label': title, title };
  return button(icon('dots'), 'menu', open, more);
}

/** Makes a row of a list, with a menu of actions at its end. */
export const rowNode = (kind, about, items, ...parts) => el(`li.row.${kind}`, ...parts, menuButton(about, items));

function openMenu(from, title, items) {
  const menu = byId('menu');
  opener = placeOf(from);
  const entries = items.map(([text, run]) => {
    if (text === '-') return el('hr', { role: 'separator' });
    const choose = () => {
      menu.hidePopover();
      run();
    };
    return button(text, text, choose, { role: 'menuitem', tabindex: '-1' });
  });
  menu.setAttribute('aria-label', title);
  menu.replaceChildren(...entries);
  menu.showPopover({ source: from });
  menu.querySelector('[role=menuitem]')?.focus();
}

function moveIn(menu, event) {
  const entries = [...menu.querySelectorAll('[role=menuitem]')];
  const n = entries.indexOf(document.activeElement);
  const to = { ArrowDown: n + 1, ArrowUp: n - 1, Home: 0, End: -1 }[event.key];
  if (event.key === 'Tab') menu.hidePopover();
  if (to === undefined) return;
  event.preventDefault();
  entries.at(to % entries.length)?.focus();
}

/** Prepares the only menu of the page, which opens beside the button that was pressed. */
export function prepareMenu() {
  const menu = byId('menu');
  menu.addEventListener('keydown', (event) => moveIn(menu, event));
  menu.addEventListener('toggle', ({ newState }) => {
    const { activeElement } = document;
    const isFree = menu.contains(activeElement) || activeElement === document.body;
    if (newState === 'closed' && isFree && opener) focusAt(document, opener);
  });
}
