// Draws only what changed, at most a few times a second, and only when somebody looks.

const parts = [];
const stale = new Set();
let drawing;

/** Runs `draw` when one of these collections, logs or other things changed. */
export function drawOn(names, draw) {
  parts.push({ names, draw });
}

/** Notes what changed. */
export function redraw(...names) {
  for (const name of names) stale.add(name);
  if (!document.hidden) drawing ??= setTimeout(drawNow, 120);
}

function drawNow() {
  drawing = undefined;
  const due = parts.filter(({ names }) => names.some((name) => stale.has(name)));
  stale.clear();
  for (const { draw } of due) draw();
}
