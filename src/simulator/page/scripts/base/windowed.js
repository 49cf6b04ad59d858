// Long lists: only the rows in sight, and a few around them, are elements.
import { el, patch } from './elements.js';

const margin = 400;

/**
 * Keeps a list inside a box that scrolls. Each row is `{key, show}`; `show` gives `{sig, make, update?}` and is asked only for rows in
 * sight. Returns what sets the rows, and the text that stands there when there are none.
 */
export function windowedList(box, list, guess) {
  const heights = new Map();
  let rows = [];
  let width = 0;
  let framed = false;

  const heightOf = (row) => heights.get(row.key) ?? guess;
  const gap = (key, height) => ({
    key,
    sig: String(height),
    make: () => el('li.gap', { 'aria-hidden': 'true' }),
    update: (node) => (node.style.height = `${height}px`),
  });

  function inSight() {
    const top = box.scrollTop - margin;
    const bottom = box.scrollTop + Math.max(box.clientHeight, 200) + margin;
    let at = 0;
    let first = rows.length;
    let last = 0;
    let above = 0;
    let below = 0;
    for (let n = 0; n < rows.length; n += 1) {
      const end = at + heightOf(rows[n]);
      if (end <= top) above = end;
      else if (at >= bottom) below += end - at;
      else {
        first = Math.min(first, n);
        last = n + 1;
      }
      at = end;
    }
    return { first: Math.min(first, last), last, above, below };
  }

  function draw() {
    const { first, last, above, below } = inSight();
    const shown = rows.slice(first, last);
    const hadFocus = list.contains(document.activeElement);
    patch(list, [
      ...(above > 0 ? [gap('^', above)] : []),
      ...shown.map(({ key, show }) => ({ key, ...show() })),
      ...(below > 0 ? [gap('v', below)] : []),
    ]);
    if (hadFocus && document.activeElement === document.body) box.focus({ preventScroll: true });
    return measure(first);
  }

  /** Notes the heights of what is shown and, for screen readers, its place in the whole list; says whether a height changed. */
  function measure(first) {
    let changed = false;
    let n = first;
    for (const node of list.children) {
      if (node.classList.contains('gap')) continue;
      n += 1;
      node.setAttribute('aria-posinset', n);
      node.setAttribute('aria-setsize', rows.length);
      const { height } = node.getBoundingClientRect();
      if (height === 0 || heights.get(node.dataset.key) === height) continue;
      heights.set(node.dataset.key, height);
      changed = true;
    }
    return changed;
  }

  function drawUntilSteady() {
    framed = false;
    for (let n = 0; n < 4 && draw(); n += 1);
    if (box.scrollTop === 0) endAtRow();
  }

  /** Lets the box end with a whole row where its list is longer than it may become. */
  function endAtRow() {
    box.style.maxHeight = '';
    const most = parseFloat(getComputedStyle(box).maxHeight) || box.clientHeight;
    const ends = [...list.children].map((node) => node.offsetTop + node.offsetHeight - list.offsetTop);
    if (most < ends.at(-1)) box.style.maxHeight = `${ends.findLast((end) => end <= most) ?? most}px`;
  }

  function soonInFrame() {
    if (framed) return;
    framed = true;
    requestAnimationFrame(drawUntilSteady);
  }

  box.addEventListener('scroll', soonInFrame, { passive: true });
  new ResizeObserver(() => {
    if (box.clientWidth !== width) heights.clear();
    width = box.clientWidth;
    soonInFrame();
  }).observe(box);

  return (next, none) => {
    rows = next.length > 0 ? next : [rowOf('-', none, () => el('li.empty', none))];
    drawUntilSteady();
  };
}

/** A row that is made anew when what it was made from has changed. */
export const rowOf = (key, seen, make) => ({ key, show: () => ({ sig: JSON.stringify(seen), make }) });
