// Draws long lists: only the visible rows, and a few around them, become elements.
import { byId, el, patch } from './elements.js';

const margin = 400;

/**
 * Draws a list inside a box that scrolls. A row is `{key, from, make, update?}` as in `patch`, but `from` is a function, which is called
 * only for rows near the visible part. `guess` is the assumed height of a row that was not drawn yet. Returns a function that takes the
 * rows and the text for an empty list.
 */
export function windowedList(id, guess) {
  const box = byId(id);
  const list = box.firstElementChild;
  const heights = new Map();
  let rows = [];
  let width = 0;
  let frame;

  const gap = (key, height) => ({
    key,
    from: [height],
    make: () => el('li.gap', { 'aria-hidden': 'true' }),
    update: (node) => (node.style.height = `${height}px`),
  });

  function draw() {
    const ends = [0];
    for (const { key } of rows) ends.push(ends.at(-1) + (heights.get(key) ?? guess));
    const top = box.scrollTop - margin;
    const bottom = box.scrollTop + Math.max(box.clientHeight, 200) + margin;
    const reached = ends.findIndex((end) => end > top);
    const first = reached < 0 ? rows.length : Math.max(0, reached - 1);
    const last = ends.findLastIndex((end) => end < bottom) + 1;
    const hadFocus = list.contains(document.activeElement);
    patch(list, [
      ...(first > 0 ? [gap('^', ends[first])] : []),
      ...rows.slice(first, last).map((row) => ({ ...row, from: row.from() })),
      ...(last < rows.length ? [gap('v', ends.at(-1) - ends[last])] : []),
    ]);
    if (hadFocus && document.activeElement === document.body) box.focus({ preventScroll: true });
    return measure(first);
  }

  /** Measures the rows that are drawn, and tells screen readers where the rows are in the whole list; returns whether a height changed. */
  function measure(first) {
    let changed = false;
    for (const [n, node] of [...list.querySelectorAll(':scope > :not(.gap)')].entries()) {
      node.ariaPosInSet = first + n + 1;
      node.ariaSetSize = rows.length;
      const { height } = node.getBoundingClientRect();
      if (height === 0 || heights.get(node.dataset.key) === height) continue;
      heights.set(node.dataset.key, height);
      changed = true;
    }
    return changed;
  }

  function drawUntilSteady() {
    frame = undefined;
    for (let n = 0; n < 4 && draw(); n += 1);
    if (box.scrollTop === 0) endAtRow();
  }

  /** Shortens the box so that it ends with a whole row, if the list is too long for the box. */
  function endAtRow() {
    box.style.maxHeight = '';
    const most = parseFloat(getComputedStyle(box).maxHeight) || box.clientHeight;
    const ends = [...list.children].map((node) => node.offsetTop + node.offsetHeight - list.offsetTop);
    if (most < ends.at(-1)) box.style.maxHeight = `${ends.findLast((end) => end <= most) ?? most}px`;
  }

  const soonInFrame = () => (frame ??= requestAnimationFrame(drawUntilSteady));
  box.addEventListener('scroll', soonInFrame, { passive: true });
  new ResizeObserver(() => {
    if (box.clientWidth !== width) heights.clear();
    width = box.clientWidth;
    soonInFrame();
  }).observe(box);

  return (next, none) => {
    rows = next.length > 0 ? next : [{ key: '-', from: () => [none], make: (text) => el('li.empty', text) }];
    drawUntilSteady();
  };
}
