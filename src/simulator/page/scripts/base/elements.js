// Makes elements: text is always text, never markup.

export const byId = (id) => document.getElementById(id);

/** Listens to an element; what is under way when the listener returns says itself how it ended. */
export const on = (id, event, run) => byId(id).addEventListener(event, (happened) => void run(happened));

/** Runs something in the place of sending a form. */
export const onSubmit = (id, run) =>
  on(id, 'submit', (event) => {
    event.preventDefault();
    void run();
  });

/** An element: `tag.class.class`, its properties if it has any, and its children; those that are false or missing are left out. */
export function el(selector, ...parts) {
  const [tag, ...classes] = selector.split('.');
  const node = document.createElement(tag);
  if (classes.length > 0) node.className = classes.join(' ');
  const props = parts[0]?.constructor === Object ? parts.shift() : {};
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (name === 'on')
      for (const [event, run] of Object.entries(value)) node.addEventListener(event, (happened) => void run(happened));
    else if (name === 'class') node.className = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
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
export const button = (text, act, run, more = {}) =>
  el('button', { type: 'button', 'data-act': act, on: { click: run }, ...more }, text);

/** Makes the children of a container those of `rows`; what has not changed stays as it is, and keeps the focus. */
export function patch(container, rows) {
  const focused = container.contains(document.activeElement) ? document.activeElement : undefined;
  const held = focused && { key: focused.closest('[data-key]')?.dataset.key, act: focused.dataset.act };
  const before = new Map([...container.children].map((node) => [node.dataset.key, node]));
  let at = container.firstElementChild;
  for (const row of rows) {
    let node = before.get(row.key);
    before.delete(row.key);
    if (node === undefined || (node.sig !== row.sig && !row.update)) {
      const fresh = row.make();
      fresh.dataset.key = row.key;
      if (node) {
        if (node === at) at = at.nextElementSibling;
        node.remove();
      }
      node = fresh;
    }
    if (node.sig !== row.sig) row.update?.(node);
    node.sig = row.sig;
    if (node === at) at = at.nextElementSibling;
    else container.insertBefore(node, at);
  }
  for (const node of before.values()) node.remove();
  if (held?.act !== undefined && document.activeElement !== focused) refocus(container, held);
}

/** Makes a short list of what has an id; when there is nothing, it says so. */
export function patchList(id, items, make, none) {
  const rows = items.map((item) => ({ key: item.id, sig: JSON.stringify(item), make: () => make(item) }));
  const nothing = { key: '-', sig: '', make: () => el('li.muted.small', none) };
  patch(byId(id), rows.length > 0 ? rows : [nothing]);
}

function refocus(container, { key, act }) {
  for (const node of container.querySelectorAll('[data-act]')) {
    if (node.dataset.act !== act || node.closest('[data-key]')?.dataset.key !== key) continue;
    node.focus({ preventScroll: true });
    return;
  }
}

let saying;
let saidAt = 0;

/** Says something for a few seconds; what is said at nearly the same time is said together. */
export function say(text) {
  const before = Date.now() - saidAt < 1000 ? byId('said').textContent : '';
  byId('said').textContent = before && before.length < 200 ? `${before}. ${text}` : text;
  saidAt = Date.now();
  clearTimeout(saying);
  saying = setTimeout(() => (byId('said').textContent = ''), 6000);
}
